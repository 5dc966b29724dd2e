#pragma once

#include <canopy/index_upkeep.h>
#include <canopy/policy_facts.h>

namespace canopy {

struct Lock;
class LeavingVisitor;

/// An optional interface of an index that keeps tenants apart (PrefixIndex::tenants): it counts the pages of each
/// tenant, and has a queue of victims for each. An engine with `tenants` needs it. The engine decides which tenant loses
/// pages; the index and the tenant's policy decide which pages these are. Until the first assign() the index has one
/// queue and counts nothing here.
class TenantIndex {
 public:
  /// Assigns a namespace to a tenant, with the nodes that it has. A namespace that was never assigned belongs to
  /// TenantId::unnamed. Costs O(nodes of the namespace). From then on the tenant's policy ranks its nodes and learns of
  /// its requests, also of the end of those that arrived before: EvictionStrategy::ended may name a request that the
  /// policy does not know. Returns false, and changes nothing, if the system has no memory.
  virtual bool assign(NamespaceId space, TenantId tenant) = 0;
  /// Returns the resident units of a tenant.
  virtual Sizes sizes(std::size_t group, TenantId tenant) const = 0;
  /// Replaces the policy of a tenant in a group: the words of its nodes become zero, and the policy ranks those that
  /// wait. Null: the group's policy. Returns false, and changes nothing, if the system has no memory. REQUIRES: the
  /// policy outlives the index or the next call for this tenant and group.
  virtual bool use_policy(std::size_t group, TenantId tenant, EvictionStrategy* policy) = 0;
  /// Evicts like PrefixIndex::evict, but only nodes of the tenant, in the order of its policy, and at most `most` pages
  /// of the group: a node with more pages is split, and its end leaves. Dead leaves do not count. `cause` and `visitor`
  /// as there. Evicts less if the system has no memory for the split. Evicts nothing of a tenant that has no namespace.
  virtual GroupPages evict(TenantId tenant, std::size_t group, std::size_t pages, std::size_t most, Cause cause,
                           LeavingVisitor* visitor) = 0;

  /// Counts the path of a lock as kept once more. Returns its units that were not kept before. REQUIRES: the lock holds
  /// its path until unkeep(); a namespace was assigned to a tenant.
  virtual Units keep(const Lock& lock) = 0;
  /// Undoes keep(). Returns the units that are no longer kept.
  virtual Units unkeep(const Lock& lock) = 0;
  /// Returns the units of the path to a node that are not kept: those at its end.
  virtual Units unkept(NodeId node) const = 0;

 protected:
  ~TenantIndex() = default;
};

}  // namespace canopy
