/// Requests in the feed, with the pages that they own.
#include <algorithm>

#include "publisher.h"

namespace canopy {

void Publisher::request_begun(const RequestState& request, NodeId node) {
  if (on())
    feed_.push(event::RequestBegun{.fetch = request.fetches,
                                   .waits = !request.fetches && !request.admitted,
                                   .prompt = request.prompt,
                                   .request = request.id,
                                   .matched = request.matched,
                                   .space = request.space,
                                   .node = node});
}

void Publisher::request_admitted(const RequestState& request, std::uint32_t hit) {
  if (on()) feed_.push(event::RequestAdmitted{.matched = hit, .request = request.id});
}

void Publisher::progress(const RequestState& request, RequestPhase phase) {
  if (on())
    feed_.push(event::RequestProgress{.phase = phase,
                                      .computed = request.computed,
                                      .request = request.id,
                                      .committed = static_cast<std::uint32_t>(request.own_from * state_.page_size),
                                      .tokens = static_cast<std::uint32_t>(request.tokens.size())});
}

void Publisher::new_pages(const RequestState& request, std::size_t group, std::size_t place) {
  if (!on()) return;
  FeedWriter::Runs runs(feed_, event::RequestPages{.group = static_cast<std::uint8_t>(group), .request = request.id});
  for (const Segment& run : state_.pools[group].last_runs()) {
    runs.add(place, run);
    place += run.pages;
  }
  runs.end();
}

void Publisher::own_pages(const RequestState& request, std::size_t group, std::size_t place) {
  const std::vector<Page>& row = request.rows[group];
  if (on())
    feed_.push_pages(event::RequestPages{.group = static_cast<std::uint8_t>(group), .request = request.id},
                     std::min(place, row.size()), row.size(), row.data());
}

void Publisher::freed(std::size_t group, std::span<const Page> pages) {
  if (on()) feed_.push_pages(event::Freed{.group = static_cast<std::uint8_t>(group)}, 0, pages.size(), pages.data());
}

}  // namespace canopy
