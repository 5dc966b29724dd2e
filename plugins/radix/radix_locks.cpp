/// Who is held, how far up, and until when.
#include "radix_index.h"

#include <algorithm>

namespace canopy::radix {

/// Where a lock of `length` units begins to hold: at a page, and never less than the last one.
Units RadixIndex::hold_from(Units length, std::size_t group) const {
  const Units reach = groups_[group].group.reach;
  return reach >= length ? 0 : (length - reach) / page_ * page_;
}

/// Locks the path that ends at `node`, in each group as far up as its reach goes; the node in which a window
/// begins is cut there, so that a lock holds no page more. REQUIRES: make_room(groups).
Lock RadixIndex::lock_at(Slot node) {
  if (nodes_[node].parent == 0) return {};
  Lock lock{nodes_.id(node), nodes_[node].end(), {}};
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Units from = lock.from[g] = hold_from(lock.length, g);
    Return ahead(*this);
    for (Slot at = node; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
      ahead.step();
      if (nodes_[at].begin < from) split(at, from - nodes_[at].begin);
      const bool first = hold(at, g).count++ == 0;
      if (accounting_.match_counts && !groups_[g].whole_path()) hold(at, g).last_access = now_;
      if (first) move(at, g, true);
      else if (groups_[g].whole_path()) break;  // everything above is held already, through this node
    }
  }
  return lock;
}

/// Undoes what lock_at did in one group, for the nodes that end deeper than `from`.
void RadixIndex::let_go(Slot node, std::size_t group, Units from) {
  for (Slot at = node; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
    const bool last = --hold(at, group).count == 0;
    if (last) move(at, group, false);
    else if (groups_[group].whole_path()) break;
  }
}

void RadixIndex::relax(Lock& lock, std::size_t group, Units from) {
  const Slot node = nodes_.find(lock.node);
  if (node == 0 || groups_[group].whole_path()) return;
  from = std::min(from, lock.length) / page_ * page_;
  bool known = from < lock.length;  // by what it still holds
  for (std::size_t g = 0; g < groups_.size(); ++g) known |= g != group && lock.from[g] < lock.length;
  if (!known) from -= page_;
  if (from <= lock.from[group]) return;
  for (Slot at = node; nodes_[at].parent && nodes_[at].end() > lock.from[group]; at = nodes_[at].parent) {
    if (nodes_[at].begin < from && nodes_[at].end() > from) {
      if (make_room(1)) split(at, from - nodes_[at].begin);
      else from = nodes_[at].begin;
    }
    if (nodes_[at].end() <= from && --hold(at, group).count == 0) move(at, group, false);
  }
  tell(EventKind::relaxed, node, group, lock.from[group], from);
  lock.from[group] = from;
}

class RadixIndex::PathOf final : public Path {
 public:
  PathOf(RadixIndex& index, Slot end, std::size_t group) : index_(index), at_(end), group_(group) {}
  bool next(NodeFacts& facts) override {
    if (at_ == 0 || index_.nodes_[at_].parent == 0) return false;
    facts = index_.facts(at_, group_);
    at_ = index_.nodes_[at_].parent;
    return true;
  }

 private:
  RadixIndex& index_;
  Slot at_;
  std::size_t group_;
};

void RadixIndex::release(const Lock& lock, const RequestFacts* finished) {
  if (accounting_.tick_per_operation) ++now_;
  if (lock.node != NodeId::none && !holds(lock)) {
    ++refused_;
    return;
  }
  const Slot node = nodes_.find(lock.node);
  for (std::size_t g = 0; finished && g < groups_.size(); ++g) {
    RequestFacts told = *finished;
    told.clock = clock(g);
    PathOf path(*this, node, g);
    groups_[g].group.eviction->finished(told, path);
  }
  for (std::size_t g = 0; node && g < groups_.size(); ++g) {
    tell(EventKind::unlocked, node, g, lock.from[g]);
    let_go(node, g, lock.from[g]);
  }
  // Its pages may all have left while it was held: then it was there for this lock alone.
  if (node && nodes_[node].children == 0 && nodes_[node].resident == 0 && !held(node)) remove(node);
}

/// False for a lock whose node has left, or that nobody can be holding any more.
bool RadixIndex::holds(const Lock& lock) const {
  const Slot node = nodes_.find(lock.node);
  return node != 0 && held(node);
}

bool RadixIndex::held(Slot slot) const {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (hold(slot, g).count > 0) return true;
  return false;
}

Sizes& RadixIndex::space_sizes(NamespaceId space, std::size_t group) {
  return spaces_[static_cast<std::size_t>(space)].sizes[group];
}

/// The node's pages of a group came in.
void RadixIndex::arrive(Slot slot, std::size_t group) {
  const Node& node = nodes_[slot];
  for (Sizes* sizes : {&sizes_[group], &space_sizes(node.space, group)})
    (hold(slot, group).count ? sizes->protected_ : sizes->evictable) += node.length;
}

/// Between evictable and protected.
void RadixIndex::move(Slot slot, std::size_t group, bool to_protected) {
  const Node& node = nodes_[slot];
  if (node.resident >> group & 1)
    for (Sizes* sizes : {&sizes_[group], &space_sizes(node.space, group)}) {
      (to_protected ? sizes->protected_ : sizes->evictable) += node.length;
      (to_protected ? sizes->evictable : sizes->protected_) -= node.length;
    }
  requeue(slot, group);
}

}  // namespace canopy::radix
