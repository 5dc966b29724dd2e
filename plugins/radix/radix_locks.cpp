// In a group of whole paths, a node's hold count is the number of locks that end there and of its children with a
// count. In another group it is the number of locks with the node in their window. A window begins where a node begins.
// A node is protected in a group exactly while its count is above 0.

#include "path_prefetcher.h"
#include "radix_index.h"

#include <algorithm>

namespace canopy::radix {
namespace {

/// A node and its ancestors, for a policy.
class PathUp final : public Path {
 public:
  PathUp(const NodeTable& nodes, const Groups& groups, Slot end, std::size_t group)
      : nodes_(nodes), groups_(groups), at_(end), group_(group) {}
  bool next(NodeFacts& facts) override {
    if (at_ == 0 || nodes_[at_].parent == 0) return false;
    facts = groups_.facts(at_, group_);
    at_ = nodes_[at_].parent;
    return true;
  }

 private:
  const NodeTable& nodes_;
  const Groups& groups_;
  Slot at_;
  std::size_t group_;
};

}  // namespace

/// Locks the path that ends at `node`, in each group as far up as its reach goes. Splits the node in which a window
/// begins, so that the lock holds no page above the window. REQUIRES: make_room(groups).
Lock RadixIndex::lock_at(Slot node, Units full_length) {
  if (nodes_[node].parent == 0) return {};
  Lock lock{id_of(nodes_.id(node)), nodes_.id(node), nodes_[node].end(), {}, full_length};
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Units from = lock.from[g] = groups_[g].hold_from(lock.length, page_);
    PathPrefetcher ahead(nodes_, holds_, path_);
    for (Slot at = node; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
      ahead.step();
      if (nodes_[at].begin < from) split(at, from - nodes_[at].begin);
      const bool first = holds_(at, g).count++ == 0;
      if (accounting_.windows == Accounting::Windows::locked && !groups_[g].whole_path())
        holds_(at, g).last_access = now_;
      if (first) set_protected(at, g, true);
      else if (groups_[g].whole_path()) break;  // this node already holds everything above it
    }
  }
  return lock;
}

/// Undoes lock_at in one group, for the nodes that end deeper than `from`.
void RadixIndex::unlock(Slot node, std::size_t group, Units from) {
  for (Slot at = node; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
    const bool last = --holds_(at, group).count == 0;
    if (last) set_protected(at, group, false);
    else if (groups_[group].whole_path()) break;
  }
}

void RadixIndex::relax(Lock& lock, std::size_t group, Units from) {
  const Slot node = end_of(lock);
  if (node == 0 || groups_[group].whole_path()) return;
  from = std::min(from, lock.length) / page_ * page_;
  bool known = from < lock.length;  // a page that it holds identifies a lock
  for (std::size_t g = 0; g < groups_.size(); ++g) known |= g != group && lock.from[g] < lock.length;
  if (!known) from -= page_;
  if (from <= lock.from[group]) return;
  for (Slot at = node; nodes_[at].parent && nodes_[at].end() > lock.from[group]; at = nodes_[at].parent) {
    if (nodes_[at].begin < from && nodes_[at].end() > from) {
      if (make_room(1)) split(at, from - nodes_[at].begin);
      else from = nodes_[at].begin, ++cut_short_;
    }
    if (nodes_[at].end() <= from && --holds_(at, group).count == 0) set_protected(at, group, false);
  }
  if (IndexEvents* to = events_.all()) to->relaxed(nodes_.id(node), group, lock.from[group], from);
  lock.from[group] = from;
}

GroupPages RadixIndex::release(const Lock& lock, const RequestFacts* ended) {
  if (accounting_.tick_per_operation) ++now_;
  if (lock.id != LockId::none && !holds(lock)) {
    ++refused_;
    return {};
  }
  const Slot node = end_of(lock);
  for (std::size_t g = 0; ended && g < groups_.size(); ++g) {
    RequestFacts facts = *ended;
    facts.clock = groups_.clock(g);
    PathUp path(nodes_, groups_, node, g);
    groups_.policy(g, ended->space).ended(facts, path);
  }
  for (std::size_t g = 0; node && g < groups_.size(); ++g) {
    if (IndexEvents* to = events_.all()) to->unlocked(nodes_.id(node), g, lock.from[g]);
    unlock(node, g, lock.from[g]);
  }
  if (node == 0 || !is_dead_leaf(node)) return {};
  clear_results();
  remove(node, Cause::dead_leaf);
  return results_.result();
}

/// Returns false if the lock's node is no longer in the tree, or if no lock holds that node.
bool RadixIndex::holds(const Lock& lock) const {
  const Slot node = end_of(lock);
  return node != 0 && held(node);
}

bool RadixIndex::held(Slot slot) const {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (holds_(slot, g).count > 0) return true;
  return false;
}

/// Counts a node's pages of a group that became resident.
void RadixIndex::add_resident(Slot slot, std::size_t group) {
  const Node& node = nodes_[slot];
  spaces_.add_resident(node.space, group, node.length, holds_(slot, group).count > 0);
}

/// Counts a node's pages of a group as protected, when the first lock holds it, or as evictable, when no lock does any
/// longer.
void RadixIndex::set_protected(Slot slot, std::size_t group, bool is_protected) {
  const Node& node = nodes_[slot];
  if (node.resident >> group & 1) spaces_.set_protected(node.space, group, node.length, is_protected);
  if (is_protected) groups_.withdraw(slot, group);
  else groups_.requeue(slot, group);
}

}  // namespace canopy::radix
