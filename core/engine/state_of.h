#pragma once

#include <canopy/engine/engine.h>

#include <cache/cache_state.h>

namespace canopy {

/// Returns the state of an engine, for its tests and for programs of this repository.
const CacheState& state_of(const Engine& engine);

}  // namespace canopy
