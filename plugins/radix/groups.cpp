// Between calls of the index, a node is in a group's queue exactly if may_evict() is true for it. The queue is that of
// the group or, once tenants are kept apart, that of the tenant of the node's namespace.

#include "groups.h"

#include <canopy/helpers/prefetch.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

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
    const QueuePlaces places{&holds, groups_.size()};
    groups_.push_back({group, VictimQueue(places), TenantQueues(places)});
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

/// Returns the place that a node has in its queue now.
[[gnu::always_inline]] inline QueuedNode Groups::ranked(EvictionStrategy& policy, Slot slot, std::size_t group) const {
  const Rank rank = policy.rank(facts(slot, group));
  if (IndexEvents* to = events_.all()) to->ranked(nodes_.id(slot), group, rank);
  // Nodes that one request added to a window have the same age, and the end of the window is worth more than nodes
  // nearer to the root.
  return {rank, groups_[group].whole_path() ? 0 : nodes_[slot].begin, slot};
}

void Groups::requeue(Slot slot, std::size_t group) {
  if (!may_evict(slot, group)) return withdraw(slot, group);
  if (apart_) [[unlikely]]
    return requeue_apart(slot, group);
  VictimQueue& queue = groups_[group].queue;
  const QueuedNode entry = ranked(*groups_[group].group.eviction, slot, group);
  if (queue.contains(slot)) queue.update(slot, entry.rank, entry.order);
  else queue.push(slot, entry.rank, entry.order);
}

[[gnu::noinline]] void Groups::requeue_apart(Slot slot, std::size_t group) {
  const NamespaceId space = nodes_[slot].space;
  groups_[group].of_tenants.put(spaces_.tenant(space), ranked(policy(group, space), slot, group));
}

[[gnu::noinline]] void Groups::erase(Slot slot, std::size_t group) {
  if (apart_) groups_[group].of_tenants.erase(spaces_.tenant(nodes_[slot].space), slot);
  else groups_[group].queue.erase(slot);
}

void Groups::requeue(Slot slot) {
  for (std::size_t g = 0; g < size_; ++g) requeue(slot, g);
}

void Groups::use_policy(std::size_t group, EvictionStrategy* policy) {
  const EvictionStrategy* const had = groups_[group].group.eviction;
  for (std::size_t slot = 0; slot < holds_.slots(); ++slot)
    if (!apart_ || &this->policy(group, nodes_[static_cast<Slot>(slot)].space) == had)
      holds_.word(static_cast<Slot>(slot), group) = {};
  groups_[group].group.eviction = policy;
  look_at_policies(group);
  rank_all(group);
}

void Groups::use_policy(std::size_t group, TenantId tenant, EvictionStrategy* policy) {
  for (std::size_t slot = 0; slot < holds_.slots(); ++slot)
    if (spaces_.tenant(nodes_[static_cast<Slot>(slot)].space) == tenant)
      holds_.word(static_cast<Slot>(slot), group) = {};
  groups_[group].policies[static_cast<std::size_t>(tenant)] = policy;
  look_at_policies(group);
  rank_all(group);
}

EvictionStrategy& Groups::policy_of(std::size_t group, TenantId tenant, EvictionStrategy& common) const {
  EvictionStrategy* const own = groups_[group].policies[static_cast<std::size_t>(tenant)];
  return own ? *own : common;
}

void Groups::look_at_policies(std::size_t group) {
  Prints& reads = groups_[group].reads_prints = Prints::none;
  bool& drifts = groups_[group].own_drifts = false;
  each_policy(group, [&](const EvictionStrategy& policy) {
    reads = std::max(reads, policy.reads_prints());
    drifts |= &policy != groups_[group].group.eviction && policy.volatility() == Volatility::epoch;
  });
}

/// Gives each entry the rank that the policy has for it now.
void Groups::rank(EvictionStrategy& policy, std::size_t group, const PolicyClock& clock,
                  std::span<QueuedNode> entries) {
  union Batch {  // its nodes are constructed in place
    Batch() {}
    std::array<NodeFacts, RankHeap::kBatch> nodes;
  } batch;
  std::array<Rank, RankHeap::kBatch> ranks;
  IndexEvents* const to = events_.all();
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
  policy.rank_many({batch.nodes.data(), entries.size()}, {ranks.data(), entries.size()});
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].rank = ranks[i];
  for (std::size_t i = 0; to && i < entries.size(); ++i) to->ranked(nodes_.id(entries[i].slot), group, ranks[i]);
}

void Groups::rank_all(std::size_t group) {
  GroupState& state = groups_[group];
  const PolicyClock clock = this->clock(group);
  state.ranked_at = state.allocated;
  if (apart_) return rank_all_apart(group, clock);
  state.queue.rerank([&](std::span<QueuedNode> entries) { rank(*state.group.eviction, group, clock, entries); });
}

/// Ranks the nodes in the queues of tenants, those of one policy together.
void Groups::rank_all_apart(std::size_t group, const PolicyClock& clock) {
  TenantQueues& queues = groups_[group].of_tenants;
  std::array<QueuedNode, RankHeap::kBatch> entries;
  std::size_t count = 0;
  EvictionStrategy* ranks = nullptr;
  queues.forget();
  const auto put_all = [&] {
    if (count > 0) rank(*ranks, group, clock, {entries.data(), count});
    for (const QueuedNode& entry : std::span(entries).first(count)) {
      holds_(entry.slot, group).place = QueuePlaces::kNone;
      queues.put(spaces_.tenant(nodes_[entry.slot].space), entry);
    }
    count = 0;
  };
  for (Slot slot = 1; slot < holds_.slots(); ++slot) {
    if (holds_(slot, group).place == QueuePlaces::kNone) continue;
    EvictionStrategy* const by = &policy(group, nodes_[slot].space);
    if (by != ranks || count == entries.size()) put_all();
    ranks = by;
    entries[count++] = queues.entry(slot);
  }
  put_all();
}

void Groups::rank_drifted(std::size_t group) {
  const GroupState& state = groups_[group];
  if (!state.own_drifts && state.group.eviction->volatility() == Volatility::none) return;
  const Sizes& sizes = spaces_.sizes(group);
  const std::uint64_t pool =
      state.group.capacity != kUnlimited ? state.group.capacity : sizes.evictable + sizes.protected_;
  if ((state.allocated - state.ranked_at) * 50 >= pool) rank_all(group);
}

void Groups::clear_queues() {
  for (std::size_t g = 0; g < size_; ++g) {
    each_waiting(g, [&](const QueuedNode& entry) { holds_(entry.slot, g).place = QueuePlaces::kNone; });
    groups_[g].queue.clear();
    groups_[g].of_tenants.forget();
  }
}

std::size_t Groups::resident() const {
  std::size_t bytes = 0;
  for (const GroupState& state : groups_)
    bytes += state.queue.resident() + state.of_tenants.resident() + state.policies.resident();
  return bytes;
}

Slot Groups::front_of_all(std::size_t group) const {
  const GroupState& state = groups_[group];
  Slot least = 0;
  for (std::size_t tenant = 0; tenant < state.of_tenants.tenants(); ++tenant)
    if (const Slot first = front(group, static_cast<TenantId>(tenant));
        first && (least == 0 || state.of_tenants.entry(first) < state.of_tenants.entry(least)))
      least = first;
  return least;
}

bool Groups::reserve(TenantId tenant) {
  for (GroupState& state : groups_) {
    const std::size_t count = static_cast<std::size_t>(tenant) + 1;
    if (!state.of_tenants.reserve(tenant) || !state.of_tenants.reserve(nodes_.slots())) return false;
    if (count > state.policies.size() && !state.policies.resize(count)) return false;
  }
  if (apart_) return true;
  apart_ = true;
  for (std::size_t g = 0; g < size_; ++g) {
    VictimQueue all = std::move(groups_[g].queue);
    groups_[g].queue = VictimQueue({&holds_, g});
    all.each([&](const QueuedNode& entry) {
      holds_(entry.slot, g).place = QueuePlaces::kNone;
      groups_[g].of_tenants.put(TenantId::unnamed, entry);
    });
  }
  return true;
}

void Groups::leave(Slot slot, TenantId to) {
  const TenantId from = spaces_.tenant(nodes_[slot].space);
  for (std::size_t g = 0; g < size_; ++g) {
    EvictionStrategy& common = *groups_[g].group.eviction;
    withdraw(slot, g);
    if (&policy_of(g, from, common) != &policy_of(g, to, common)) holds_.word(slot, g) = {};
  }
}

}  // namespace canopy::radix
