#include <algorithm>
#include <utility>

#include "apply.h"

namespace canopy::inspector {
namespace {

using event::kMostPages;

}  // namespace

void Apply::own(std::size_t group, Segment run, std::int64_t owner) {
  MirrorPool& pool = state_.pools[group];
  const std::uint64_t numbers =
      std::min(kMostPages + 1, std::max(pool.pages + 1, std::uint64_t{pool.segment_pages} * pool.segments.size()));
  const std::size_t first = run.first, end = first + run.pages;
  if (run.pages == 0 || end > numbers) return;
  pool.changes.add(run, state_.commits + 1);
  for (std::size_t page = first; page < end; ++page) {
    const std::int64_t had = std::as_const(pool.owner)[page];
    if (had == owner) continue;
    // A node that gave its page to another owner in the same operation does not free it.
    pool.counted.free += had == 0 ? (owner == 0 ? 0 : ~std::uint64_t{0}) : (owner == 0 ? 1 : 0);
    pool.counted.owned += (owner < 0 ? 1U : 0U) - std::uint64_t{had < 0 ? 1U : 0U};
    pool.owner[page] = owner;
  }
}

/// A row ends with the reported pages: pages beyond them no longer belong to the request, for example after a failed
/// reservation.
void Apply::operator()(const event::RequestPages& pages) {
  MirrorRequest* request = state_.requests.find(pages.request);
  if (request) {
    std::erase_if(request->pages,
                  [&](const PageRun& run) { return run.group == pages.group && run.place >= pages.place; });
    for (PageRun& run : request->pages)
      if (run.group == pages.group) run.count = std::min(run.count, pages.place - run.place);
  }
  std::uint32_t place = pages.place;
  for (const Segment& run : pages.runs) {
    if (run.pages == 0) continue;
    own(pages.group, run, ~static_cast<std::int64_t>(pages.request));
    if (request) request->pages.push_back({place, run.first, run.pages, pages.group});
    place += run.pages;
  }
}

/// Gives the node the part of the request's row at the node's depth.
void Apply::take_over(MirrorNode& node, const MirrorRequest& request) {
  const std::uint32_t first = node.begin / state_.page_size, end = node.end() / state_.page_size;
  for (const PageRun& run : request.pages) {
    const std::uint32_t from = std::max(run.place, first);
    const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{run.place} + run.count, end));
    if (from >= to || !node.has(run.group)) continue;
    const Page page = run.first + (from - run.place);
    node.pages.push_back({from - first, page, to - from, run.group});
    own(run.group, {page, to - from}, slot_of(NodeId{node.id}));
  }
}

void Apply::operator()(const event::NodePages& pages) {
  MirrorNode* node = state_.writable(static_cast<std::uint64_t>(pages.node));
  if (!node) return;
  const std::size_t g = pages.group;
  using Filled = CommitSoFar::Filled;
  if (!node->has(g)) {
    state_.now.filled = node->lost >> g & 1   ? Filled::lost
                        : node->reported_late ? Filled::not_known
                                              : Filled::never_kept;
    node->resident = static_cast<std::uint16_t>(node->resident | 1U << g);
    node->lost = static_cast<std::uint16_t>(node->lost & ~(1U << g));
    count(*node, g, true);
    if (watcher_ && !state_.now.keyframe) watcher_->filled(*node, g, state_.now.filled == Filled::lost);
  }
  // The pages are reported again from the start: they were relocated.
  if (std::any_of(node->pages.begin(), node->pages.end(),
                  [&](const PageRun& run) { return run.group == g && run.place == pages.place; }))
    free_pages(*node, g);
  std::uint32_t place = pages.place;
  for (const Segment& run : pages.runs) {
    if (run.pages == 0) continue;
    node->pages.push_back({place, run.first, run.pages, pages.group});
    own(g, run, slot_of(pages.node));
    place += run.pages;
  }
}

void Apply::operator()(const event::Freed& freed) {
  for (const Segment& run : freed.runs) own(freed.group, run, 0);
}

void Apply::operator()(const event::PoolSized& sized) {
  MirrorPool& pool = state_.pools[sized.group];
  if (pool.pages != sized.pages) pool.changes.forget(state_.commits + 1);
  pool.counted.free += sized.pages - pool.pages;
  pool.pages = sized.pages;
  pool.limit = sized.limit;
  pool.segment_pages = sized.segment_pages;
}

void Apply::operator()(const event::SegmentChanged& changed) {
  std::vector<MirrorPool::Segment>& segments = state_.pools[changed.group].segments;
  const std::uint64_t pages = state_.pools[changed.group].segment_pages;
  if (changed.offered > pages || changed.draining > pages || changed.number * pages > kMostPages) return;
  if (changed.number > segments.size()) return;  // segments are reported in order
  if (changed.number == segments.size()) segments.emplace_back();
  MirrorPool::Segment& segment = segments[static_cast<std::size_t>(changed.number)];
  if (segment.state != changed.state || segment.offered != changed.offered)
    state_.pools[changed.group].changes.add(
        {static_cast<Page>(changed.number * pages), static_cast<std::uint32_t>(pages)}, state_.commits + 1);
  segment = {changed.state, changed.offered, changed.draining};
}

void Apply::operator()(const event::Totals& totals) {
  state_.pools[totals.group].reported = {totals.free, totals.evictable / state_.page_size,
                                         totals.protected_ / state_.page_size, totals.owned};
  state_.now.totalled = true;
}

void Apply::operator()(const event::CallersPool& pool) { state_.pools[pool.group].callers = {pool.pages, pool.free}; }

void Apply::free_pages(MirrorNode& node, std::size_t group) {
  for (const PageRun& run : node.pages)
    if (run.group == group) own(group, {run.first, run.count}, 0);
  std::erase_if(node.pages, [&](const PageRun& run) { return run.group == group; });
}

void Apply::count(const MirrorNode& node, std::size_t group, bool in) {
  MirrorPool::Sums& sums = state_.pools[group].counted;
  std::uint64_t& sum = node.hold[group] ? sums.protected_ : sums.evictable;
  const std::uint64_t pages = node.length / state_.page_size;
  sum += in ? pages : std::uint64_t{0} - pages;
  if (state_.waits(node, group)) state_.pools[group].waiting += in ? std::uint64_t{1} : ~std::uint64_t{0};
}

}  // namespace canopy::inspector
