#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/slot_allocator.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace canopy::test {

/// One KV cache group of a world: its pool and its policy.
struct Part {
  std::string name;
  Units reach = kWholePath;
  std::uint32_t capacity = 0;  ///< pages
  std::shared_ptr<SlotAllocator> allocator;
  std::array<std::shared_ptr<EvictionStrategy>, 2> policies;  ///< both outlive the index
  std::size_t policy = 0;                                     ///< index of the policy in use
  std::string policy_name;
  std::map<TenantId, std::pair<std::string, std::shared_ptr<EvictionStrategy>>> own;  ///< policies of tenants
  std::uint64_t owned = 0;  ///< pages of requests that are in no index

  EvictionStrategy& policy_of(TenantId tenant) const {
    const auto found = own.find(tenant);
    return found == own.end() ? *policies[policy] : *found->second.second;
  }
  const std::string& policy_name_of(TenantId tenant) const {
    const auto found = own.find(tenant);
    return found == own.end() ? policy_name : found->second.first;
  }
};

}  // namespace canopy::test
