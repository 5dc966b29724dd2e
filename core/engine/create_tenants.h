#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine_config.h>

#include <variant>

#include <cache/cache_state.h>

namespace canopy {

/// Gives the cache the tenants of the configuration, if there are any. `serves`: true for the pools, where tenants
/// order their nodes by policies of their own; false for the host tier. `kept_free`: as in Tenants. REQUIRES: the cache
/// has its pools and its index.
Result<std::monostate> open_tenants(const EngineConfig& config, CacheState& state, const Registry& registry,
                                    bool serves, double kept_free);

}  // namespace canopy
