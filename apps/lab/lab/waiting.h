#pragma once

#include <canopy/engine/engine.h>

#include "comparison.h"

namespace canopy::lab {

/// Returns the nodes that wait to be evicted from an engine's first group in the words of its policy
/// (PolicyText::rank), in order of eviction. `unit`: tokens per token of the engine.
Waiting waiting_in(const Engine& engine, Units unit);

}  // namespace canopy::lab
