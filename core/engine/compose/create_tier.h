#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/state.h>
#include <canopy/loading/registry.h>

#include <memory>

#include "tiers/host_tier.h"
#include "tiers/storage_tier.h"

namespace canopy {

/// The tier below the pools of `device`, with the same index, codec and groups. REQUIRES: `device` has its pools and
/// its index, and outlives the tier; config.host_tier has a capacity. `feed`: is told of the tier's tree; null: nothing
/// is.
Result<std::unique_ptr<HostTier>> create_host_tier(const EngineConfig& config, EngineState& device,
                                                   const Registry& registry, FeedWriter* feed);

/// The storage below that tier. REQUIRES: `device` and `host` outlive it; config.storage_tier names a storage. `feed`:
/// that of `host`.
Result<std::unique_ptr<StorageTier>> create_storage_tier(const EngineConfig& config, EngineState& device,
                                                         HostTier& host, const Registry& registry, FeedWriter* feed);

}  // namespace canopy
