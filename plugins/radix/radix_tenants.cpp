/// Tenants: their namespaces and policies, and the paths that are kept for them.
#include "radix_index.h"

#include <algorithm>

namespace canopy::radix {

/// Makes room for a tenant, and keeps tenants apart from now on. Returns false, and changes nothing, if the system has
/// no memory.
bool RadixIndex::keep_apart(TenantId tenant) {
  const bool first = !groups_.apart();
  if (!spaces_.reserve(tenant) || !kept_.resize(std::max(kept_.size(), nodes_.slots())) || !groups_.reserve(tenant))
    return false;
  if (first) spaces_.begin_tenants();
  return true;
}

bool RadixIndex::use_policy(std::size_t group, TenantId tenant, EvictionStrategy* policy) {
  if (!keep_apart(tenant)) return false;
  groups_.use_policy(group, tenant, policy);
  return true;
}

bool RadixIndex::assign(NamespaceId space, TenantId tenant) {
  if (!spaces_.reserve(space) || !keep_apart(tenant)) return false;
  const Slot root = spaces_.root(space);
  for (Slot slot = root ? nodes_.after(root, root) : 0; slot; slot = nodes_.after(slot, root))
    groups_.leave(slot, tenant);
  spaces_.assign(space, tenant);
  for (Slot slot = root ? nodes_.after(root, root) : 0; slot; slot = nodes_.after(slot, root)) groups_.requeue(slot);
  return true;
}

Units RadixIndex::keep(const Lock& lock) {
  Units units = 0;
  for (Slot at = end_of(lock); at && nodes_[at].parent; at = nodes_[at].parent) {
    if (kept_[at]++ > 0) break;
    units += nodes_[at].length;
  }
  return units;
}

Units RadixIndex::unkeep(const Lock& lock) {
  Units units = 0;
  for (Slot at = end_of(lock); at && nodes_[at].parent; at = nodes_[at].parent) {
    if (--kept_[at] > 0) break;
    units += nodes_[at].length;
  }
  return units;
}

Units RadixIndex::unkept(NodeId node) const {
  Units units = 0;
  for (Slot at = nodes_.find(node); at && nodes_[at].parent && kept_[at] == 0; at = nodes_[at].parent)
    units += nodes_[at].length;
  return units;
}

}  // namespace canopy::radix
