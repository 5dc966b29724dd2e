/// Who may leave, in which order, and what becomes of the tree when they do.
#include "radix_index.h"

#include <algorithm>

namespace canopy::radix {

PolicyClock RadixIndex::clock(std::size_t group) const {
  const Sizes& sizes = sizes_[group];
  return {groups_[group].allocated, sizes.evictable + sizes.protected_, groups_[group].group.capacity, now_};
}

NodeFacts RadixIndex::facts(Slot slot, std::size_t group) const {
  const Node& node = nodes_[slot];
  NodeFacts facts;
  facts.id = nodes_.id(slot);
  facts.space = node.space;
  facts.begin = node.begin;
  facts.length = node.length;
  facts.hits = node.hits;
  facts.inserts = node.inserts;
  facts.children = node.children;
  facts.priority = node.priority;
  facts.created = node.created;
  facts.last_access = hold(slot, group).last_access;
  facts.spared = node.spared;
  facts.clock = clock(group);
  facts.tag = const_cast<std::uint64_t*>(&node.tag);  // the policy's own word, whoever looks
  return facts;
}

/// A whole-path group gives up leaves only; a window or a state may go from anywhere and leaves a gap.
bool RadixIndex::may_leave(Slot slot, std::size_t group) const {
  const Node& node = nodes_[slot];
  return node.parent != 0 && (node.resident >> group & 1) && hold(slot, group).count == 0 &&
         (node.children == 0 || !groups_[group].whole_path());
}

/// Brings a node's place in a group's queue in line with its facts.
void RadixIndex::requeue(Slot slot, std::size_t group) {
  Queue& queue = groups_[group].queue;
  const bool waits = hold(slot, group).place != Queue::kNowhere;
  if (!may_leave(slot, group)) {
    if (waits) queue.erase(slot);
    return;
  }
  const Rank rank = groups_[group].group.eviction->rank(facts(slot, group));
  tell(EventKind::node_ranked, slot, group, rank.major, rank.minor);
  // What one request brought to a window has one age: what lies nearer the root is of less use than its end.
  const std::uint32_t order = groups_[group].whole_path() ? 0 : nodes_[slot].begin;
  if (waits) queue.update(slot, rank, order);
  else queue.push(slot, rank, order);
}

void RadixIndex::requeue(Slot slot) {
  for (std::size_t g = 0; g < groups_.size(); ++g) requeue(slot, g);
}

GroupPages RadixIndex::evict(std::size_t group, std::size_t pages) {
  if (accounting_.tick_per_operation) ++now_;
  clear_out();
  PerGroup& from = groups_[group];
  EvictionStrategy& policy = *from.group.eviction;
  if (policy.volatility() == Volatility::epoch) {
    const Sizes& sizes = sizes_[group];
    const std::uint64_t pool =
        from.group.capacity != kUnlimited ? from.group.capacity : sizes.evictable + sizes.protected_;
    if ((from.allocated - from.ranked_at) * 50 >= pool) rank_all(group);
  }
  if (!out_[group].reserve(std::min<std::size_t>(pages, sizes_[group].evictable / page_))) stop_without_memory();
  while (out_[group].size() < pages && !from.queue.empty()) {
    const Slot victim = from.queue.front().slot;
    look_ahead(group);
    if (nodes_[victim].spared != now_ && policy.spare(facts(victim, group))) {
      nodes_[victim].spared = now_;
      requeue(victim);
    } else {
      leave(victim, group);
    }
  }
  return out();
}

/// Asks for the memory of those who may be next, so that it is there when they are.
void RadixIndex::look_ahead(std::size_t group) const {
  groups_[group].queue.each_soon([&](Slot slot) {
    nodes_.prefetch(slot);
    prefetch(&hold(slot, group));
  });
}

/// REQUIRES: may_leave. A leaf that nothing holds goes altogether; otherwise the node stays with a gap in this
/// group and in those that reach less far, which a boundary here could not use without it.
void RadixIndex::leave(Slot slot, std::size_t group) {
  if (nodes_[slot].children == 0 && !held(slot)) return remove(slot);
  const Units reach = groups_[group].group.reach;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (g == group || (groups_[g].group.reach < reach && may_leave(slot, g)))
      vacate(slot, g), tell(EventKind::node_emptied, slot, g);
}

/// The node's pages of a group go out.
void RadixIndex::vacate(Slot slot, std::size_t group) {
  groups_[group].group.eviction->evicted(facts(slot, group));
  Node& node = nodes_[slot];
  Page* pages = node_pages(node);
  const std::size_t count = node.length / page_, width = groups_.size();
  if (width == 1 && groups_[0].whole_path()) out_[group].append(pages, count);  // it leaves the tree as well
  else
    for (std::size_t i = 0; i < count; ++i) {
      out_[group].push_back(pages[i * width + group]);
      pages[i * width + group] = 0;
    }
  node.resident &= ~(1U << group);
  for (Sizes* sizes : {&sizes_[group], &space_sizes(node.space, group)}) sizes->evictable -= node.length;
  requeue(slot, group);
}

/// Takes a leaf that nothing holds out of the tree, and with it the ancestors that were there for it alone.
void RadixIndex::remove(Slot slot) {
  for (;;) {
    const std::uint32_t place = fingerprint(nodes_[slot].parent, words(nodes_[slot]));
    nodes_.prefetch_places(place);  // it comes while the queue closes the gap
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (nodes_[slot].resident >> g & 1) vacate(slot, g);
    const Node node = nodes_[slot];
    nodes_.unfile(place, slot);
    nodes_.detach(slot);
    auto& run = *reinterpret_cast<Run*>(runs_.at(node.run));
    if (--run.windows == 0) {
      runs_.free(run.pages);
      runs_.free(node.run);
    } else {
      runs_.shrink(run.pages, std::size_t{(node.begin - run.depth) / page_} * groups_.size());
      runs_.shrink(node.run, kRunWords + std::size_t{node.begin - run.depth} + overlap_);
    }
    const bool inherits = accounting_.hands_over;
    if (told())
      feed_->push({EventKind::node_removed, 0, static_cast<std::uint16_t>(inherits), 0,
                   static_cast<std::uint64_t>(nodes_.id(slot))});
    nodes_.free(slot);
    --node_count_;

    Node& parent = nodes_[node.parent];
    if (parent.parent == 0) return drop_empty_root(node.parent);
    if (inherits) {
      parent.priority = std::max(parent.priority, node.priority);
      parent.inserts += node.inserts;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].whole_path())
          hold(node.parent, g).last_access = std::max(hold(node.parent, g).last_access, hold(slot, g).last_access);
    }
    requeue(node.parent);
    if (parent.children != 0 || parent.resident != 0 || held(node.parent)) return;
    slot = node.parent;
  }
}

/// A namespace that holds nothing costs its counters only.
void RadixIndex::drop_empty_root(Slot slot) {
  const Node& node = nodes_[slot];
  if (node.parent != 0 || node.children != 0) return;
  spaces_[static_cast<std::size_t>(node.space)].root = 0;
  nodes_.free(slot);
}

GroupPages RadixIndex::flush(NamespaceId space) {
  if (accounting_.tick_per_operation) ++now_;
  clear_out();
  const auto at = static_cast<std::size_t>(space);
  const Slot root = at < spaces_.size() ? spaces_[at].root : 0;
  // Children before parents: from each node on to the deepest first child of the next sibling, or up.
  const auto deepest = [&](Slot slot) {
    while (nodes_[slot].first_child) slot = nodes_[slot].first_child;
    return slot;
  };
  for (Slot slot = root ? deepest(root) : 0; slot != root && slot != 0;) {
    const Slot next = nodes_[slot].next, parent = nodes_[slot].parent;
    const bool leaves = nodes_[slot].children == 0 && !held(slot);
    const bool last = next == 0;
    if (leaves) {
      // `remove` climbs through ancestors that are empty; none of them has been passed, so stop there.
      remove(slot);
      if (!nodes_.in_use(parent)) {
        slot = spaces_[at].root ? deepest(spaces_[at].root) : 0;
        continue;
      }
    } else {
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (may_leave(slot, g)) vacate(slot, g), tell(EventKind::node_emptied, slot, g);  // above a lock: as gaps
    }
    slot = last ? parent : deepest(next);
  }
  return out();
}

GroupPages RadixIndex::clear() {
  clear_out();
  for (Slot slot = 1; slot < nodes_.slots(); ++slot) {
    if (!nodes_.in_use(slot)) continue;
    const Node& node = nodes_[slot];
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = 0; (node.resident >> g & 1) && i < node.length / page_; ++i)
        out_[g].push_back(node_pages(node)[i * groups_.size() + g]);
  }
  for (PerGroup& group : groups_) group.queue.clear();
  nodes_.free_all();
  runs_ = RunStore(keep_free_, 0);  // the old memory goes before the new comes
  runs_ = RunStore(keep_free_, words_ahead_);
  spaces_.clear_to_zero();
  sizes_ = {};
  node_count_ = 0;
  tell(EventKind::cleared, 0);
  return out();
}

void RadixIndex::use_policy(std::size_t group, EvictionStrategy* policy) {
  groups_[group].group.eviction = policy;
  rank_all(group);
}

void RadixIndex::rank_all(std::size_t group) {
  groups_[group].ranked_at = groups_[group].allocated;
  groups_[group].queue.rerank([&](Slot slot) {
    const Rank rank = groups_[group].group.eviction->rank(facts(slot, group));
    tell(EventKind::node_ranked, slot, group, rank.major, rank.minor);
    return rank;
  });
}

void RadixIndex::clear_out() {
  // Room for a usual result stays: 256 KiB, or 1/64 of what is resident. A larger one is not kept room for.
  constexpr std::size_t kLeast = std::size_t{1} << 16;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    out_[g].clear_but_keep(std::max<std::size_t>(kLeast, (sizes_[g].evictable + sizes_[g].protected_) / page_ / 64));
}

GroupPages RadixIndex::out() const {
  GroupPages pages;
  for (std::size_t g = 0; g < groups_.size(); ++g) pages[g] = {out_[g].data(), out_[g].size()};
  return pages;
}

}  // namespace canopy::radix
