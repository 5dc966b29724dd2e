#include "mirror.h"

#include <algorithm>

namespace canopy::inspector {

void Mirror::own(std::size_t group, Page first, std::uint32_t count, std::int64_t owner) {
  MirrorPool& pool = pools_[group];
  const std::uint64_t numbers = std::max(pool.pages + 1, std::uint64_t{pool.segment_pages} * pool.segments.size());
  if (count == 0 || std::uint64_t{first} + count > numbers) return;
  if (pool.owner.size() < std::size_t{first} + count)
    pool.owner.resize(std::max<std::size_t>(std::size_t{first} + count, pool.owner.size() * 3 / 2));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::int64_t& had = pool.owner[first + i];
    // A node that gave its page up to another owner in the same operation does not free it.
    pool.counted.free += had == 0 ? (owner == 0 ? 0 : ~std::uint64_t{0}) : (owner == 0 ? 1 : 0);
    pool.counted.held += (owner < 0 ? 1U : 0U) - std::uint64_t{had < 0 ? 1U : 0U};
    had = owner;
  }
}

/// A row ends with what is told of it: what had been beyond is the request's no more, as after a reservation that
/// failed.
void Mirror::own_row(const Event& event) {
  MirrorRequest* request = find_request(event.node);
  const std::uint32_t end = event.extra;
  if (request) {
    std::erase_if(request->pages, [&](const PageRun& run) { return run.group == event.group && run.place >= end; });
    for (PageRun& run : request->pages)
      if (run.group == event.group) run.count = std::min(run.count, end - run.place);
  }
  std::uint32_t place = end;
  for (const std::uint64_t run : {event.a, event.b}) {
    const auto length = static_cast<std::uint32_t>(run >> 32);
    if (length == 0) continue;
    own(event.group, static_cast<Page>(run), length, ~static_cast<std::int64_t>(event.node));
    if (request) request->pages.push_back({place, static_cast<Page>(run), length, event.group});
    place += length;
  }
}

/// What a request's row has where the node stands is the node's now.
void Mirror::take_over(MirrorNode& node, const MirrorRequest& request) {
  const std::uint32_t first = node.begin / page_size_, end = node.end() / page_size_;
  for (const PageRun& run : request.pages) {
    const std::uint32_t from = std::max(run.place, first);
    const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{run.place} + run.count, end));
    if (from >= to || !node.has(run.group)) continue;
    const Page page = run.first + (from - run.place);
    node.pages.push_back({from - first, page, to - from, run.group});
    own(run.group, page, to - from, slot_of_id(node.id));
  }
}

void Mirror::adopt_pages(const Event& event) {
  MirrorNode* node = writable(event.node);
  if (!node) return;
  const std::size_t g = event.group;
  if (!node->has(g)) {
    node->resident = static_cast<std::uint16_t>(node->resident | 1U << g);
    count(*node, g, true);
    filled_ = true;
  }
  // Told anew from the start: the pages have other numbers now.
  if (std::any_of(node->pages.begin(), node->pages.end(),
                  [&](const PageRun& run) { return run.group == g && run.place == event.extra; }))
    free_pages(*node, g);
  std::uint32_t place = event.extra;
  for (const std::uint64_t run : {event.a, event.b}) {
    const auto length = static_cast<std::uint32_t>(run >> 32);
    if (length == 0) continue;
    node->pages.push_back({place, static_cast<Page>(run), length, event.group});
    own(g, static_cast<Page>(run), length, slot_of_id(event.node));
    place += length;
  }
}

void Mirror::free_pages(MirrorNode& node, std::size_t group) {
  for (const PageRun& run : node.pages)
    if (run.group == group) own(group, run.first, run.count, 0);
  std::erase_if(node.pages, [&](const PageRun& run) { return run.group == group; });
}

/// Between the sums of who may leave and who may not, in pages.
void Mirror::count(const MirrorNode& node, std::size_t group, bool in) {
  MirrorPool::Sums& sums = pools_[group].counted;
  std::uint64_t& sum = node.hold[group] ? sums.protected_ : sums.evictable;
  sum += in ? node.length / page_size_ : std::uint64_t{0} - node.length / page_size_;
}

}  // namespace canopy::inspector
