/// A pool gets another limit while the engine runs: what is too much is evicted, what lies in the wrong place is
/// moved, what a request holds is waited for.
#include <canopy/engine/engine.h>

#include <algorithm>

#include "engine_internals.h"

namespace canopy {
namespace {

/// One step moves so many pages at most: a pass over the tree, and one call of the store.
constexpr std::size_t kMovedAtOnce = std::size_t{1} << 16;
/// Passes that move nothing are spaced further and further apart, up to so many operations.
constexpr std::uint32_t kMostPatience = 1023;

/// Pages in segments that go, held by no lock: nobody reads them, so their bytes may be elsewhere.
class LoosePages final : public NodeVisitor {
 public:
  LoosePages(const Pool& pool, std::size_t group) : pool_(pool), group_(group) {}
  std::vector<Page> found;
  void node(const NodeView& node) override {
    if (node.locks[group_] > 0) return;
    for (const Page page : node.pages[group_])
      if (found.size() < kMovedAtOnce && pool_.leaves(page)) found.push_back(page);
  }

 private:
  const Pool& pool_;
  std::size_t group_;
};

}  // namespace

void Engine::resize(std::size_t group, std::uint64_t pages) {
  Pool& pool = pools_[group];
  pages = std::max<std::uint64_t>(pages, 1);
  // Whoever has to leave leaves before the segments are chosen: those that have become emptiest go, and less is moved.
  const Occupancy now = pool.occupancy();
  if (const std::uint64_t out = now.capacity - now.free; out > pages && index_->sizes(group).evictable > 0)
    evict(group, out - pages);
  pool.resize(pages);
  index_->set_capacity(group, pages == kUnlimited ? kUnlimited : pages * page_size_);
  ++counters_.resizes;
  digest_->take(Digest::Step::resize, group, pages);
  settle(Operation::resize);
  patience_[group] = waits_[group] = 0;
  drain(group);
}

/// One step on the way out of the segments that go.
void Engine::drain(std::size_t group) {
  Pool& pool = pools_[group];
  loose_[group] = false;
  pool.reap();
  if (!pool.draining()) return;
  const std::uint64_t had = pool.surplus();
  if (had > 0 && index_->sizes(group).evictable > 0) evict(group, had);
  const std::size_t moved = move_out(group);
  loose_[group] = moved == kMovedAtOnce;
  patience_[group] = moved || pool.surplus() < had ? 0 : std::min(kMostPatience, patience_[group] * 2 + 1);
  waits_[group] = patience_[group];
  pool.reap();
  settle(Operation::resize);
}

/// How many pages have other numbers now.
std::size_t Engine::move_out(std::size_t group) {
  Pool& pool = pools_[group];
  LoosePages loose(pool, group);
  index_->visit(loose);
  std::vector<Page>& from = loose.found;
  from.resize(std::min<std::size_t>(from.size(), pool.allocator().occupancy().free));
  std::vector<Page> to(from.size());
  if (from.empty() || !pool.move(from, to)) return 0;
  index_->remap(group, from, to);
  counters_.moved_pages += from.size();
  digest_->take(Digest::Step::move, group, from.size());
  digest_->take(to);
  free(group, from, "a move");
  tell_freed(group, from);
  return from.size();
}

/// How many pages of segments that go a lock holds. Not what rows say: the page by which a lock is known when its
/// windows have left everything behind is in none.
std::uint64_t Engine::leaving_under(const Lock& lock, std::size_t group) {
  const std::span<const Page> held = index_->pages(lock)[group];
  return static_cast<std::uint64_t>(
      std::count_if(held.begin(), held.end(), [&](Page page) { return page != 0 && pools_[group].leaves(page); }));
}

/// How many of them a request keeps, with what is its own.
std::uint64_t Engine::leaving_under(const Request::State& request, std::size_t group) {
  const std::vector<Page>& row = request.rows[group];
  const auto own = row.begin() + static_cast<std::ptrdiff_t>(std::min(request.own_from, row.size()));
  return leaving_under(request.lock, group) + static_cast<std::uint64_t>(std::count_if(own, row.end(), [&](Page page) {
           return page != 0 && pools_[group].leaves(page);
         }));
}

/// Somebody (a request, a lock) lets go: does a pool wait for one of its pages?
template <class Holder>
void Engine::note_leaving(const Holder& gone) {
  for (std::size_t g = 0; g < pools_.size(); ++g) loose_[g] |= pools_[g].draining() && leaving_under(gone, g) > 0;
}
template void Engine::note_leaving(const Lock&);
template void Engine::note_leaving(const Request::State&);

void Engine::go_on_draining() {
  for (std::size_t g = 0; g < pools_.size(); ++g)
    if (loose_[g] && waits_[g] > 0) --waits_[g];
    else if (loose_[g]) drain(g);
}

std::vector<Engine::Blocker> Engine::blockers(std::size_t group) {
  std::vector<Blocker> found;
  for (const Request::State* request : live_)
    if (const std::uint64_t pages = leaving_under(*request, group); pages > 0)
      found.push_back({request->id, NodeId::none, pages});
  for (const auto& [node, lock] : pins_)
    if (const std::uint64_t pages = leaving_under(lock, group); pages > 0) found.push_back({0, node, pages});
  return found;
}

}  // namespace canopy
