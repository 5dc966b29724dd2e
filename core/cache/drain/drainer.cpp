// A page that a lock holds or a request owns keeps its number, because the rows of requests name it. Only the index's
// pages under no lock are relocated. The index names the new pages before the former ones are freed.

#include "drainer.h"

#include <algorithm>
#include <new>

#include <cache/guard/index_port.h>
#include <cache/publish/publisher.h>

namespace canopy {
namespace {

/// Most pages that one pass relocates: one walk over the tree, and one call of the store.
constexpr std::size_t kRelocatedAtOnce = std::size_t{1} << 16;
/// Most operations between passes. Passes that relocate nothing are spaced further and further apart.
constexpr std::uint32_t kMostBackoff = 1023;

/// Finds pages in draining segments that no lock holds. No request reads them, so they may be relocated.
class UnlockedPages final : public NodeVisitor {
 public:
  /// Takes memory for `most` pages, so that none is lacking inside the index.
  UnlockedPages(const Pool& pool, std::size_t group, std::size_t most) : pool_(pool), group_(group), most_(most) {
    found.reserve(most);
  }
  std::vector<Page> found;
  void node(const NodeView& node) override {
    if (node.locks[group_] > 0) return;
    for (const Page page : node.pages[group_])
      if (found.size() < most_ && pool_.drains(page)) found.push_back(page);
  }

 private:
  const Pool& pool_;
  std::size_t group_, most_;
};

}  // namespace

void Drainer::resize(std::size_t group, std::uint64_t pages) {
  Pool& pool = state_.pools[group];
  pages = std::max<std::uint64_t>(pages, 1);
  if (pages > kUnlimited / state_.page_size) pages = kUnlimited;  // more tokens than can be counted
  pool.set_limit(pages);
  pages_.report_limit(group);  // the eviction goes by it
  // Evict first, choose segments second: eviction empties some of them, so fewer pages must be relocated.
  const Occupancy now = pool.occupancy();
  if (const std::uint64_t out = now.capacity - now.free; out > pages && state_.index->sizes(group).evictable > 0)
    pages_.evict(group, out - pages, Cause::limit);
  withdraw(pool);
  ++state_.counters.resizes;
  pages_.digest().take(Digest::Step::resize, group, pages);
  pages_.end_operation(Operation::resize);
  passes_[group] = {};
  pass(group);
}

void Drainer::pass(std::size_t group) {
  Pool& pool = state_.pools[group];
  Passes& passes = passes_[group];
  passes.pending = false;
  const std::uint64_t changes = pool.changes();
  const bool withdrawn = !pool.above_limit() || withdraw(pool);
  pool.reap();
  if (!pool.draining()) {
    if (!withdrawn) try_later(passes);
    if (pool.changes() != changes) pages_.end_operation(Operation::resize);
    return;
  }
  const std::uint64_t had = pool.surplus();
  if (had > 0 && state_.index->sizes(group).evictable > 0) pages_.evict(group, had, Cause::limit);
  const std::optional<std::size_t> relocated = relocate(group);
  try_later(passes);
  passes.pending = !withdrawn || !relocated || *relocated == kRelocatedAtOnce;
  if (relocated.value_or(0) > 0 || pool.surplus() < had) passes.backoff = 0;
  passes.countdown = passes.backoff;
  pool.reap();
  pages_.end_operation(Operation::resize);
}

/// Withdraws the pages above the limit. Returns false if some could not be withdrawn, for want of memory for example.
bool Drainer::withdraw(Pool& pool) {
  try {
    pool.go_to_limit();
  } catch (const std::bad_alloc&) {  // for its list of segments: the next pass does it
    ++state_.lacked;
  }
  return !pool.above_limit();
}

/// Makes the next pass after twice as many operations as the last time.
void Drainer::try_later(Passes& passes) {
  passes.pending = true;
  passes.backoff = std::min(kMostBackoff, passes.backoff * 2 + 1);
  passes.countdown = passes.backoff;
}

/// Relocates unlocked pages out of draining segments. Returns their number, or nothing if that failed, for want of
/// memory for example: the pages are where they were.
std::optional<std::size_t> Drainer::relocate(std::size_t group) {
  Pool& pool = state_.pools[group];
  const std::uint64_t draining = pool.occupancy().capacity - pool.offered();
  const std::size_t most = std::min({kRelocatedAtOnce, pool.free_pages(), draining});
  std::optional<UnlockedPages> unlocked;
  std::vector<Page> to;
  try {
    unlocked.emplace(pool, group, most);
    to.reserve(most);
  } catch (const std::bad_alloc&) {
    ++state_.lacked;
    return {};
  }
  if (!state_.index->done("visit", &PrefixIndex::visit, *unlocked)) return {};
  const std::vector<Page>& from = unlocked->found;
  if (from.empty()) return 0;
  to.resize(from.size());
  if (!pool.relocate(from, to)) return {};
  if (!state_.index->done("remap", &PrefixIndex::remap, group, from, to)) {
    pages_.free(group, to, "a relocation that failed");
    return {};
  }
  state_.counters.relocated_pages += from.size();
  pages_.digest().take(Digest::Step::relocate, group, from.size());
  pages_.digest().take(to);
  pages_.free(group, from, "a relocation");
  if (Publisher* publisher = pages_.publisher()) publisher->freed(group, from);
  return from.size();
}

/// Returns the pages under this lock that lie in draining segments. Uses the index, not the request's row: a fully
/// relaxed lock keeps one page that no row lists (see PrefixIndex::relax).
std::uint64_t Drainer::draining_under(const Lock& lock, std::size_t group) const {
  const std::span<const Page> locked = state_.index->pages(lock)[group];
  return static_cast<std::uint64_t>(std::count_if(
      locked.begin(), locked.end(), [&](Page page) { return page != 0 && state_.pools[group].drains(page); }));
}

/// Returns those, the pages in draining segments that the request owns, and those of a window that it retains.
std::uint64_t Drainer::draining_under(const RequestState& request, std::size_t group) const {
  const std::vector<Page>& row = request.rows[group];
  const auto owned = row.begin() + static_cast<std::ptrdiff_t>(std::min(request.own_from, row.size()));
  const bool whole = state_.pools[group].needs().whole_path();  // its lock covers what it retains there
  std::uint64_t retained = whole ? 0 : draining_under(request.kept, group);
  for (const RequestState::Promise& promise : request.promises)
    retained += whole ? 0 : draining_under(promise.lock, group);
  return draining_under(request.lock, group) + retained +
         static_cast<std::uint64_t>(
             std::count_if(owned, row.end(), [&](Page page) { return page != 0 && state_.pools[group].drains(page); }));
}

template <class Released>
void Drainer::note(const Released& released) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    if (state_.pools[g].draining() && draining_under(released, g) > 0) passes_[g].pending = true;
}

void Drainer::releasing(const Lock& lock) { note(lock); }
void Drainer::releasing(const RequestState& request) { note(request); }

void Drainer::go_on() {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    Passes& passes = passes_[g];
    passes.pending |= state_.pools[g].drained();
    if (passes.pending && passes.countdown > 0) --passes.countdown;
    else if (passes.pending) pass(g);
  }
}

std::vector<Blocker> Drainer::blockers(std::size_t group) const {
  std::vector<Blocker> found;
  for (const RequestState* request : state_.live)
    if (const std::uint64_t pages = draining_under(*request, group); pages > 0)
      found.push_back({request->id, NodeId::none, pages});
  for (const auto& [node, lock] : state_.pins)
    if (const std::uint64_t pages = draining_under(lock, group); pages > 0) found.push_back({0, node, pages});
  for (const auto& [node, path] : state_.kept)
    if (const std::uint64_t pages = draining_under(path.lock, group); pages > 0) found.push_back({0, node, pages});
  return found;
}

}  // namespace canopy
