#include "create_tenants.h"

#include <fmt/format.h>

#include <cache/guard/index_port.h>
#include <cache/guard/policy_guard.h>
#include <cache/tenants/tenants.h>
#include "make_component.h"

namespace canopy {

Result<std::monostate> open_tenants(const EngineConfig& config, CacheState& state, const Registry& registry,
                                    bool serves, double kept_free) {
  if (config.tenants.empty()) return std::monostate{};
  if (!state.index->keeps_tenants())
    return Error{config.message(fmt::format("tenants: {} keeps no tenants apart; expected index: radix",
                                            registry.component(PrefixIndex::kInterface, config.index.name)))};
  state.tenants = std::make_unique<Tenants>(config.tenants, state, config.groups[0].capacity, serves, kept_free);
  std::size_t next = 1;
  for (const TenantConfig& tenant : config.tenants) {
    Tenants::Policies policies;
    for (std::size_t g = 0; serves && !tenant.eviction.name.empty() && g < state.pools.size(); ++g) {
      auto policy = make_component<EvictionStrategy>(tenant.eviction, registry, {});
      if (!policy) return policy.error();
      policies.push_back(
          make_port<PolicyGuard>(*policy, tenant.eviction.name, registry, state.ledger, state.policy_failed));
    }
    const std::size_t number = tenant.name == "*" ? 0 : next++;
    if (!state.tenants->open(number, std::move(policies)))
      return Error{config.message("tenants: the system has no memory for them")};
  }
  return std::monostate{};
}

}  // namespace canopy
