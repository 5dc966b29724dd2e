/// What becomes of the tree when nodes are evicted, flushed or cleared.
#include "radix_index.h"

#include <algorithm>

namespace canopy::radix {

GroupPages RadixIndex::evict(std::size_t group, std::size_t pages) {
  if (accounting_.tick_per_operation) ++now_;
  clear_results();
  groups_.rank_drifted(group);
  EvictionStrategy& policy = groups_.policy(group);
  const VictimQueue& queue = groups_[group].queue;
  while (results_[group].size() < pages && !queue.empty()) {
    const Slot victim = queue.front().slot;
    groups_.prefetch_next(group);
    if (nodes_[victim].spared != now_ && policy.spare(groups_.facts(victim, group))) {
      nodes_[victim].spared = now_;
      groups_.requeue(victim);
    } else {
      evict_node(victim, group);
    }
  }
  return results_.result();
}

/// Removes a leaf that no lock holds. Any other node stays as a tombstone of this group and of those that reach less
/// far: no boundary here could use their pages without this group's. REQUIRES: may_evict.
void RadixIndex::evict_node(Slot slot, std::size_t group) {
  if (nodes_[slot].children == 0 && !held(slot)) return remove(slot);
  const Units reach = groups_[group].group.reach;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (g == group || (groups_[g].group.reach < reach && groups_.may_evict(slot, g))) make_tombstone(slot, g);
}

void RadixIndex::make_tombstone(Slot slot, std::size_t group) {
  drop_pages(slot, group);
  events_.tell<event::NodeTombstoned>(slot, static_cast<std::uint8_t>(group));
}

/// The node's pages of a group become part of the result.
void RadixIndex::drop_pages(Slot slot, std::size_t group) {
  groups_.policy(group).evicted(groups_.facts(slot, group));
  Node& node = nodes_[slot];
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

/// Removes a leaf that no lock holds from the tree, and then each ancestor that only this leaf kept there.
void RadixIndex::remove(Slot slot) {
  for (;;) {
    const std::uint32_t place = runs_.fingerprint(nodes_[slot].parent, runs_.words(nodes_[slot]));
    nodes_.prefetch_places(place);  // it comes while the queue is compacted
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (nodes_[slot].resident >> g & 1) drop_pages(slot, g);
    const Node node = nodes_[slot];
    nodes_.unfile(place, slot);
    nodes_.detach(slot);
    runs_.remove_window(node);
    const bool inherits = accounting_.hands_over;
    events_.tell<event::NodeRemoved>(slot, inherits);
    nodes_.free(slot);
    --node_count_;

    Node& parent = nodes_[node.parent];
    if (parent.parent == 0) return drop_empty_root(node.parent);
    if (inherits) {
      parent.priority = std::max(parent.priority, node.priority);
      parent.inserts += node.inserts;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].whole_path())
          holds_(node.parent, g).last_access =
              std::max(holds_(node.parent, g).last_access, holds_(slot, g).last_access);
    }
    groups_.requeue(node.parent);
    if (parent.children != 0 || parent.resident != 0 || held(node.parent)) return;
    slot = node.parent;
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
    const Slot next = nodes_[slot].next, parent = nodes_[slot].parent;
    const bool removable = nodes_[slot].children == 0 && !held(slot);
    const bool last = next == 0;
    if (removable) {
      // `remove` may have removed ancestors as well. The walk has visited none of them yet, so it begins again.
      remove(slot);
      if (!nodes_.in_use(parent)) {
        const Slot left = spaces_.root(space);
        slot = left ? deepest(left) : 0;
        continue;
      }
    } else {
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_.may_evict(slot, g)) make_tombstone(slot, g);  // a lock below needs the node
    }
    slot = last ? parent : deepest(next);
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
  events_.tell_cleared();
  return results_.result();
}

void RadixIndex::use_policy(std::size_t group, EvictionStrategy* policy) {
  groups_[group].group.eviction = policy;
  groups_.rank_all(group);
}

}  // namespace canopy::radix
