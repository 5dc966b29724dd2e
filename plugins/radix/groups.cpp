#include "groups.h"

#include <canopy/helpers/prefetch.h>

#include <array>
#include <new>
#include <span>

namespace canopy::radix {

Groups::Groups(const PrefixIndex::Context& context, const NodeTable& nodes, HoldTable& holds, const Spaces& spaces,
               const NodeEvents& events, const Tick& now)
    : nodes_(nodes),
      holds_(holds),
      spaces_(spaces),
      events_(events),
      now_(now),
      size_(context.groups.size()),
      all_((1U << size_) - 1),
      one_whole_path_(size_ == 1 && context.groups[0].reach == kWholePath) {
  groups_.reserve(context.groups.size());
  for (const Group& group : context.groups) {
    groups_.push_back({group, VictimQueue({&holds, groups_.size()})});
    groups_.back().reads_prints = group.eviction->reads_prints();
    any_path_limit_ |= group.max_per_path > 0;
  }
}

PolicyClock Groups::clock(std::size_t group) const {
  const Sizes& sizes = spaces_.sizes(group);
  return {groups_[group].allocated, sizes.evictable + sizes.protected_, groups_[group].group.capacity, now_};
}

NodeFacts Groups::facts(Slot slot, std::size_t group, const PolicyClock& clock) const {
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
  facts.last_access = holds_(slot, group).last_access;
  facts.clock = clock;
  Word& word = holds_.word(slot, group);
  facts.spared = word.spared;
  facts.tag = &word.tag;                                    // the policy may write to it, also in a const visit
  facts.parent_tag = &holds_.word(node.parent, group).tag;  // the tag of a root is 0
  return facts;
}

void Groups::requeue(Slot slot, std::size_t group) {
  VictimQueue& queue = groups_[group].queue;
  const bool waits = queue.contains(slot);
  if (!may_evict(slot, group)) {
    if (waits) queue.erase(slot);
    return;
  }
  const Rank rank = groups_[group].group.eviction->rank(facts(slot, group));
  if (IndexEvents* to = events_.all()) to->ranked(nodes_.id(slot), group, rank);
  // Nodes that one request added to a window have the same age, and the end of the window is worth more than nodes
  // nearer to the root.
  const std::uint32_t order = groups_[group].whole_path() ? 0 : nodes_[slot].begin;
  if (waits) queue.update(slot, rank, order);
  else queue.push(slot, rank, order);
}

void Groups::requeue(Slot slot) {
  for (std::size_t g = 0; g < size_; ++g) requeue(slot, g);
}

void Groups::use_policy(std::size_t group, EvictionStrategy* policy) {
  groups_[group].group.eviction = policy;
  groups_[group].reads_prints = policy->reads_prints();
  for (std::size_t slot = 0; slot < holds_.slots(); ++slot) holds_.word(static_cast<Slot>(slot), group) = {};
  rank_all(group);
}

void Groups::rank_all(std::size_t group) {
  union Batch {  // its nodes are constructed in place
    Batch() {}
    std::array<NodeFacts, RankHeap::kBatch> nodes;
  } batch;
  std::array<Rank, RankHeap::kBatch> ranks;
  const PolicyClock clock = this->clock(group);
  IndexEvents* const to = events_.all();
  groups_[group].ranked_at = groups_[group].allocated;
  groups_[group].queue.rerank([&](std::span<QueuedNode> entries) {
    constexpr std::size_t kAhead = 8;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i + kAhead < entries.size()) {
        const Slot next = entries[i + kAhead].slot;
        nodes_.prefetch(next);
        prefetch(&holds_(next, group));
        prefetch(&holds_.word(next, group));
      }
      ::new (&batch.nodes[i]) NodeFacts(facts(entries[i].slot, group, clock));
    }
    groups_[group].group.eviction->rank_many({batch.nodes.data(), entries.size()}, {ranks.data(), entries.size()});
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].rank = ranks[i];
    for (std::size_t i = 0; to && i < entries.size(); ++i) to->ranked(nodes_.id(entries[i].slot), group, ranks[i]);
  });
}

void Groups::rank_drifted(std::size_t group) {
  const GroupState& state = groups_[group];
  if (state.group.eviction->volatility() != Volatility::epoch) return;
  const Sizes& sizes = spaces_.sizes(group);
  const std::uint64_t pool =
      state.group.capacity != kUnlimited ? state.group.capacity : sizes.evictable + sizes.protected_;
  if ((state.allocated - state.ranked_at) * 50 >= pool) rank_all(group);
}

void Groups::clear_queues() {
  for (GroupState& state : groups_) state.queue.clear();
}

std::size_t Groups::resident() const {
  std::size_t bytes = 0;
  for (const GroupState& state : groups_) bytes += state.queue.resident();
  return bytes;
}

}  // namespace canopy::radix
