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

// X(name, rule): the figures of a tenant, in tokens of the first group unless the name says otherwise. Python, the
// report of a replay and the terminal loop over the table. A new figure needs one line here, and one where the engine
// counts.
#define CANOPY_TENANT_FIGURES(X)                                                                                \
  X(requests, "Its requests that were admitted (Request::admitted).")                                           \
  X(prompt_tokens, "Tokens of their prompts.")                                                                  \
  X(hit_tokens, "Tokens of those prompts that were cached, by the last match before the request was admitted.") \
  X(cached, "Tokens that it has now.")                                                                          \
  X(locked, "Those of them that locks hold.")                                                                   \
  X(kept, "Those of them that retention keeps.")                                                                \
  X(evicted, "Tokens that left its share.")                                                                     \
  X(paid, "Those of them that left for another tenant.")                                                        \
  X(taken, "Tokens that left other tenants for this one.")                                                      \
  X(below_floor, "Tokens of `evicted` that its floor protected: nothing else could leave.")                     \
  X(refused_pins, "Tokens whose retention was refused.")                                                        \
  X(refused_puts, "Tokens that were not put into the storage, since its budget was spent.")

// clang-format off
/// The use of a tenant's share so far.
struct TenantUse {
  std::string name;  ///< "*" for the other tenants, if they have one share together; empty: requests without a tenant
  TenantShare share;
#define CANOPY_FIELD(name, rule) std::uint64_t name = 0;
  CANOPY_TENANT_FIGURES(CANOPY_FIELD)
#undef CANOPY_FIELD
};
// clang-format on

struct TenantFigure {
  const char *name, *rule;
  std::uint64_t TenantUse::* figure;
};
inline constexpr TenantFigure kTenantFigures[] = {
#define CANOPY_ROW(name, rule) {#name, rule, &TenantUse::name},
    CANOPY_TENANT_FIGURES(CANOPY_ROW)
#undef CANOPY_ROW
};

/// Tokens of the first group that left one tenant for another.
struct TenantPayment {
  std::string from, to;
  std::uint64_t tokens = 0;
};

}  // namespace canopy
