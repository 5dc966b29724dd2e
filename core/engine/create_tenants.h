#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine_config.h>

#include <variant>

#include <cache/cache_state.h>

namespace canopy {

/// Gives the cache the tenants of the configuration, if there are any. `with_policies`: tenants order their nodes by
/// policies of their own. REQUIRES: the cache has its pools and its index.
Result<std::monostate> open_tenants(const EngineConfig& config, CacheState& state, const Registry& registry,
                                    bool with_policies);

}  // namespace canopy
