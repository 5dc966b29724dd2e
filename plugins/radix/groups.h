#pragma once

#include <canopy/prefix_index.h>

#include <vector>

#include "hold_table.h"
#include "node_events.h"
#include "node_table.h"
#include "spaces.h"
#include "tenant_queues.h"
#include "victim_queue.h"

namespace canopy::radix {

/// One KV cache group and the nodes that it may evict.
struct GroupState {
  Group group;
  VictimQueue queue;                     ///< empty once tenants are kept apart
  TenantQueues of_tenants;               ///< empty before that
  Column<EvictionStrategy*> policies{};  ///< by tenant; null: the group's
  std::uint64_t allocated = 0;           ///< units inserted so far
  std::uint64_t ranked_at = 0;           ///< value of `allocated` when all nodes were last ranked (Volatility::epoch)
  Prints reads_prints = Prints::none;    ///< prints that one of its policies reads
  bool own_drifts = false;               ///< the ranks of a tenant's own policy drift

  bool whole_path() const { return group.reach == kWholePath; }
  /// Returns the depth from which a lock of `length` units holds pages: the beginning of a page, so that it holds at
  /// least one.
  Units hold_from(Units length, Units page_size) const {
    return group.reach >= length ? 0 : (length - group.reach) / page_size * page_size;
  }
};

/// The groups, the facts of nodes for their policies, and the nodes in their queues.
class Groups {
 public:
  Groups(const PrefixIndex::Context& context, const NodeTable& nodes, HoldTable& holds, const Spaces& spaces,
         const NodeEvents& events, const Tick& now);

  std::size_t size() const { return size_; }
  GroupState& operator[](std::size_t group) { return groups_[group]; }
  const GroupState& operator[](std::size_t group) const { return groups_[group]; }
  /// Returns the policy that ranks the nodes of a namespace.
  EvictionStrategy& policy(std::size_t group, NamespaceId space) const {
    EvictionStrategy& common = *groups_[group].group.eviction;
    return apart_ ? policy_of(group, spaces_.tenant(space), common) : common;
  }
  /// Calls visit(policy) for each policy of a group, once.
  template <class Visit>
  void each_policy(std::size_t group, Visit&& visit) const {
    visit(*groups_[group].group.eviction);
    for (std::size_t i = 0; i < groups_[group].policies.size(); ++i)
      if (EvictionStrategy* policy = groups_[group].policies[i]) visit(*policy);
  }
  /// Returns the mask of all groups.
  std::uint32_t all() const { return all_; }
  /// Returns true if a group has a Group::max_per_path.
  bool any_path_limit() const { return any_path_limit_; }
  /// Returns true if there is only one group and it needs the whole path, as in most engines. Then there are no
  /// tombstones.
  bool one_whole_path() const { return one_whole_path_; }

  PolicyClock clock(std::size_t group) const;
  NodeFacts facts(Slot slot, std::size_t group) const { return facts(slot, group, clock(group)); }
  NodeFacts facts(Slot slot, std::size_t group, const PolicyClock& clock) const;
  /// Returns true if the group may evict the node. A whole-path group may evict only leaves; a window or a state may be
  /// evicted anywhere and leaves a tombstone (a gap).
  bool may_evict(Slot slot, std::size_t group) const {
    const Node& node = nodes_[slot];
    return (node.children == 0 || !groups_[group].whole_path()) && (node.resident >> group & 1) &&
           holds_(slot, group).count == 0 && node.parent != 0;
  }
  /// Updates a node's place in the group's queue after a change of its facts.
  void requeue(Slot slot, std::size_t group);
  /// Takes a node that the group may no longer evict out of its queue, if it is in it.
  void withdraw(Slot slot, std::size_t group) {
    if (holds_(slot, group).place != QueuePlaces::kNone) erase(slot, group);
  }
  /// Updates a node's place in the queues of all groups.
  void requeue(Slot slot);
  /// Updates a node's place in the queues of the groups with a reach, where a node may be in the queue while a request
  /// uses its path.
  void requeue_in_windows(Slot slot) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (!groups_[g].whole_path() && holds_(slot, g).place != QueuePlaces::kNone) requeue(slot, g);
  }
  /// Replaces the group's policy: the words of its nodes become zero, and the new policy ranks the nodes in the queue.
  void use_policy(std::size_t group, EvictionStrategy* policy);
  /// Does the same for one tenant. Null: the group's policy.
  void use_policy(std::size_t group, TenantId tenant, EvictionStrategy* policy);
  /// Ranks all nodes in the group's queue again.
  void rank_all(std::size_t group);
  /// Calls rank_all if the policy's ranks drift and 2 % of the pool's units were inserted since the last time.
  void rank_drifted(std::size_t group);
  void clear_queues();
  std::size_t resident() const;

  /// Makes room in the queues for the nodes of slots below `slots`. Returns false if the system has no memory.
  bool promise(std::size_t slots) {
    for (GroupState& state : groups_)
      if (apart_ ? !state.of_tenants.reserve(slots) : !state.queue.promise(slots)) return false;
    return true;
  }
  /// Returns the node that the group evicts next; 0 if there is none. Looks at every tenant once they are kept apart.
  Slot front(std::size_t group) const {
    if (apart_) return front_of_all(group);
    const VictimQueue& queue = groups_[group].queue;
    return queue.empty() ? 0 : queue.front().slot;
  }
  /// Returns the tenant's node that the group evicts next; 0 if there is none.
  Slot front(std::size_t group, TenantId tenant) const { return groups_[group].of_tenants.front(tenant); }
  /// Calls visit(entry) for each node in the group's queues, in no particular order.
  template <class Visit>
  void each_waiting(std::size_t group, Visit&& visit) const {
    const GroupState& state = groups_[group];
    state.queue.each(visit);
    for (Slot slot = 1; apart_ && slot < holds_.slots(); ++slot)
      if (holds_(slot, group).place != QueuePlaces::kNone) visit(state.of_tenants.entry(slot));
  }
  /// Returns true if tenants are kept apart.
  bool apart() const { return apart_; }
  /// Returns true if there is room for the tenant.
  bool knows(TenantId tenant) const { return static_cast<std::size_t>(tenant) < groups_[0].of_tenants.tenants(); }
  /// Makes room for a tenant, and keeps tenants apart from now on. Returns false, and changes nothing, if the system
  /// has no memory.
  bool reserve(TenantId tenant);
  /// Takes a node out of its queues before its namespace gets another tenant; requeue() then puts it into those of that
  /// tenant. The node's words become zero where the two have different policies. REQUIRES: reserve.
  void leave(Slot slot, TenantId to);

 private:
  QueuedNode ranked(EvictionStrategy& policy, Slot slot, std::size_t group) const;
  void requeue_apart(Slot slot, std::size_t group);
  void erase(Slot slot, std::size_t group);
  Slot front_of_all(std::size_t group) const;
  EvictionStrategy& policy_of(std::size_t group, TenantId tenant, EvictionStrategy& common) const;
  void look_at_policies(std::size_t group);
  void rank(EvictionStrategy& policy, std::size_t group, const PolicyClock& clock, std::span<QueuedNode> entries);
  void rank_all_apart(std::size_t group, const PolicyClock& clock);

  const NodeTable& nodes_;
  HoldTable& holds_;
  const Spaces& spaces_;
  const NodeEvents& events_;
  const Tick& now_;
  std::vector<GroupState> groups_;
  // These are read in every call.
  std::size_t size_;
  std::uint32_t all_;
  bool one_whole_path_, any_path_limit_ = false, apart_ = false;
};

}  // namespace canopy::radix
