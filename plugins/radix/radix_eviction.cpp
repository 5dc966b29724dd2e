// Between calls the tree has no dead leaf and no root without children: each leaf has its pages in all groups, or a
// lock holds it. So remove() goes up from a leaf until the parent is no dead leaf.

#include "radix_index.h"

#include <algorithm>

namespace canopy::radix {

/// Returns true if the policy keeps the node that is next, which then has another place in the queue.
inline bool RadixIndex::spare(Slot victim, std::size_t group) {
  Tick& spared = holds_.word(victim, group).spared;
  if (spared == now_ || !groups_.policy(group, nodes_[victim].space).spare(groups_.facts(victim, group))) return false;
  spared = now_;
  groups_.requeue(victim, group);
  return true;
}

inline void RadixIndex::evict_next(Slot victim, std::size_t group, Cause cause, LeavingVisitor* visitor) {
  if (visitor) [[unlikely]]
    report_leaving(victim, group, *visitor);
  evict_node(victim, group, cause);
}

GroupPages RadixIndex::evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* visitor) {
  if (accounting_.tick_per_operation) ++now_;
  clear_results();
  groups_.rank_drifted(group);
  if (visitor) leaving_.begin();
  while (results_[group].size() < pages)
    if (const Slot victim = groups_.front(group); victim == 0) break;
    else if (!spare(victim, group)) evict_next(victim, group, cause, visitor);
  return results_.result();
}

GroupPages RadixIndex::evict(TenantId tenant, std::size_t group, std::size_t pages, std::size_t most, Cause cause,
                             LeavingVisitor* visitor) {
  if (accounting_.tick_per_operation) ++now_;
  clear_results();
  if (!groups_.knows(tenant)) return {};
  groups_.rank_drifted(group);
  if (visitor) leaving_.begin();
  std::size_t left = 0;  // pages of the nodes that were chosen: dead leaves above them do not count
  while (left < std::min(pages, most)) {
    const Slot victim = groups_.front(group, tenant);
    if (victim == 0) break;
    if (spare(victim, group)) continue;
    if (const std::size_t more = nodes_[victim].length / page_; left + more > most) {
      if (!make_room(1)) {
        ++cut_short_;
        break;
      }
      split(victim, static_cast<Units>(left + more - most) * page_);
      leaving_.begin();  // the upper half may have the slot of a node that left
    }
    left += nodes_[victim].length / page_;
    evict_next(victim, group, cause, visitor);
  }
  return results_.result();
}

void RadixIndex::report_leaving(Slot slot, std::size_t group, LeavingVisitor& visitor) {
  if (leaving_.read(slot)) visitor.leaving({groups_.facts(slot, group), leaving_.words(), leaving_.pages()});
  else ++cut_short_;  // without memory
}

/// Removes a leaf that no lock holds. Any other node stays as a tombstone of this group and of the groups with a
/// smaller reach: no boundary here could use their pages without this group's. REQUIRES: may_evict.
void RadixIndex::evict_node(Slot slot, std::size_t group, Cause cause) {
  if (nodes_[slot].children == 0 && !held(slot)) {
    remove(slot, cause, group);
    return;
  }
  const Units reach = groups_[group].group.reach;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (g == group || (groups_[g].group.reach < reach && groups_.may_evict(slot, g)))
      make_tombstone(slot, g, g == group ? cause : Cause::other_group);
}

/// Evicts nodes above `tail` from the group, from the root on, until the path has at most Group::max_per_path pages.
/// Nodes that a lock holds stay, and so do forks.
void RadixIndex::evict_above(Slot tail, std::size_t group) {
  std::size_t pages = 0;
  for (Slot at = tail; nodes_[at].parent; at = nodes_[at].parent)
    if (nodes_[at].resident >> group & 1) {
      pages += nodes_[at].length / page_;
      if (path_.reserve(path_.size() + 1)) path_.push_back(at);
    }
  for (std::size_t i = path_.size(); i-- > 0 && pages > groups_[group].group.max_per_path;) {
    const Slot at = path_[i];
    if (at == tail || nodes_[at].children != 1 || !groups_.may_evict(at, group)) continue;
    pages -= nodes_[at].length / page_;
    evict_node(at, group, Cause::path_limit);
  }
  path_.clear();
}

void RadixIndex::make_tombstone(Slot slot, std::size_t group, Cause cause) {
  drop_pages(slot, group, cause);
  if (IndexEvents* to = events_.nodes()) to->tombstoned(nodes_.id(slot), group);
}

/// Moves the node's pages of a group to the result.
void RadixIndex::drop_pages(Slot slot, std::size_t group, Cause cause) {
  Eviction eviction{cause, {}};
  Node& node = nodes_[slot];
  EvictionStrategy& policy = groups_.policy(group, node.space);
  if (groups_[group].reads_prints == Prints::all && policy.reads_prints() == Prints::all)
    eviction.prefix_prints = prints_.of(slot);
  policy.evicted(groups_.facts(slot, group), eviction);
  Page* pages = runs_.pages(node);
  const std::size_t count = node.length / page_, width = groups_.size();
  if (groups_.one_whole_path()) results_[group].append(pages, count);  // the node is removed as well
  else
    for (std::size_t i = 0; i < count; ++i) {
      results_[group].push_back(pages[i * width + group]);
      pages[i * width + group] = 0;
    }
  node.resident &= ~(1U << group);
  spaces_.remove_resident(node.space, group, node.length);
  groups_.requeue(slot, group);
}

/// Returns true for a leaf with a tombstone that no lock holds: no match can end there.
bool RadixIndex::is_dead_leaf(Slot slot) const {
  const Node& node = nodes_[slot];
  return node.children == 0 && node.resident != groups_.all() && !held(slot);
}

/// Removes a leaf that no lock holds from the tree, and then each ancestor that becomes a dead leaf. If `group` is not
/// kMaxGroups, `cause` is the reason for leaving this group, and pages in other groups leave with Cause::other_group.
RadixIndex::Removed RadixIndex::remove(Slot slot, Cause cause, std::size_t group) {
  for (;;) {
    const std::uint32_t place = runs_.fingerprint(nodes_[slot].parent, runs_.words(nodes_[slot]));
    nodes_.prefetch_places(place);  // it loads while the queue is compacted
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (nodes_[slot].resident >> g & 1)
        drop_pages(slot, g, g == group || group == kMaxGroups ? cause : Cause::other_group);
    const Node node = nodes_[slot];
    nodes_.unfile(place, slot);
    nodes_.detach(slot);
    runs_.remove_window(node);
    const bool inherits = accounting_.hands_over;
    if (IndexEvents* to = events_.nodes()) to->removed(nodes_.id(slot), inherits);
    nodes_.free(slot);
    --node_count_;

    Node& parent = nodes_[node.parent];
    if (parent.parent == 0) {
      drop_empty_root(node.parent);
      return {node.next, node.parent};
    }
    if (inherits) {
      parent.priority = std::max(parent.priority, node.priority);
      parent.inserts += node.inserts;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].whole_path())
          holds_(node.parent, g).last_access =
              std::max(holds_(node.parent, g).last_access, holds_(slot, g).last_access);
    }
    if (!is_dead_leaf(node.parent)) {
      groups_.requeue(node.parent);
      return {node.next, node.parent};
    }
    slot = node.parent;
    cause = Cause::dead_leaf, group = kMaxGroups;
  }
}

void RadixIndex::drop_empty_root(Slot slot) {
  const Node& node = nodes_[slot];
  if (node.parent != 0 || node.children != 0) return;
  spaces_.set_root(node.space, 0);
  nodes_.free(slot);
}

GroupPages RadixIndex::flush(NamespaceId space) {
  if (accounting_.tick_per_operation) ++now_;
  clear_results();
  const Slot root = spaces_.root(space);
  // Children before parents: the next node is the deepest first child of the next sibling, or else the parent.
  const auto deepest = [&](Slot slot) {
    while (nodes_[slot].first_child) slot = nodes_[slot].first_child;
    return slot;
  };
  for (Slot slot = root ? deepest(root) : 0; slot != root && slot != 0;) {
    Removed done{nodes_[slot].next, nodes_[slot].parent};
    if (nodes_[slot].children == 0 && !held(slot)) {
      done = remove(slot, Cause::flush);
    } else {
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_.may_evict(slot, g)) make_tombstone(slot, g, Cause::flush);  // a lock below needs the node
    }
    slot = done.next ? deepest(done.next) : done.parent;
  }
  return results_.result();
}

GroupPages RadixIndex::clear() {
  clear_results();
  for (Slot slot = 1; slot < nodes_.slots(); ++slot) {
    if (!nodes_.in_use(slot)) continue;
    const Node& node = nodes_[slot];
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = 0; (node.resident >> g & 1) && i < node.length / page_; ++i)
        results_[g].push_back(runs_.pages(node)[i * groups_.size() + g]);
  }
  groups_.clear_queues();
  nodes_.free_all();
  runs_.clear();
  spaces_.clear();
  node_count_ = 0;
  if (IndexEvents* to = events_.nodes()) to->cleared();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    groups_.each_policy(g, [](EvictionStrategy& policy) { policy.cleared(); });
  return results_.result();
}

bool RadixIndex::use_policy(std::size_t group, EvictionStrategy* policy) {
  groups_.use_policy(group, policy);
  return true;
}

}  // namespace canopy::radix
