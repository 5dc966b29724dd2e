#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine_config.h>

#include <memory>

#include <cache/cache_state.h>
#include <tiers/host_tier.h>
#include <tiers/storage_tier.h>

namespace canopy {

/// Creates the tier below the pools of `device`, with the same index, codec and groups. `feed` receives the events of
/// the tier's tree. May be null (no feed). REQUIRES: `device` has its pools and its index, and outlives the tier;
/// config.host_tier has a capacity.
Result<std::unique_ptr<HostTier>> create_host_tier(const EngineConfig& config, CacheState& device,
                                                   const Registry& registry, FeedWriter* feed);

/// Creates the storage below that tier. `feed`: that of `host`. REQUIRES: `device`, `host` and `costs` outlive it;
/// config.storage_tier names a storage.
Result<std::unique_ptr<StorageTier>> create_storage_tier(const EngineConfig& config, CacheState& device, HostTier& host,
                                                         const CostModel& costs, const Registry& registry,
                                                         FeedWriter* feed);

}  // namespace canopy
