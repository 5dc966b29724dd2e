#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <string>

namespace canopy {

/// The share of a tenant in the pools. Tokens are those of the first group; in each other group, and in the host tier,
/// a tenant has as much in proportion to the configured capacity.
///
///   0 ............. floor .................................. ceiling
///     not evicted   |  evicted for others, if this tenant is |  evicted by
///     for others    |  the furthest above its weighted share |  itself
///
/// Room that no other tenant uses may be used up to the ceiling: a floor keeps nothing free.
struct TenantShare {
  std::uint64_t floor = 0;             ///< cached tokens that are not evicted for other tenants
  double weight = 1;                   ///< above the floors, the tenant with the most tokens per weight loses first
  std::uint64_t ceiling = kUnlimited;  ///< most cached tokens; running requests may exceed it until they end
  std::uint64_t puts = kUnlimited;     ///< most tokens per minute of Engine::turn that are put into the storage
  std::uint64_t pins = 0;              ///< most tokens that retention keeps (RequestSpec::retention)
};

/// The use of a tenant's share so far, in tokens of the first group.
struct TenantUse {
  std::string name;  ///< "*" for the other tenants, if they have one share together; empty: requests without a tenant
  TenantShare share;
  std::uint64_t requests = 0, prompt_tokens = 0;
  std::uint64_t hit_tokens = 0;          ///< tokens that were resident when its requests began: no Request::rematch
  std::uint64_t cached = 0, locked = 0;  ///< tokens that it has now, and those of them that locks hold
  std::uint64_t kept = 0;                ///< tokens under retention now: a part of `locked`
  std::uint64_t evicted = 0;             ///< tokens that left its share
  std::uint64_t paid = 0;                ///< those of them that left for another tenant
  std::uint64_t taken = 0;               ///< tokens that left other tenants for this one
  std::uint64_t below_floor = 0;         ///< those of `evicted` that its floor protected: nothing else could leave
  std::uint64_t refused_pins = 0;        ///< tokens whose retention was refused
  std::uint64_t refused_puts = 0;        ///< tokens that were not put into the storage, since its budget was spent
};

/// Tokens of the first group that left one tenant for another.
struct TenantPayment {
  std::string from, to;
  std::uint64_t tokens = 0;
};

}  // namespace canopy
