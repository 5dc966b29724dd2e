#pragma once

#include <canopy/engine/engine.h>

#include "comparison.h"

namespace canopy::lab {

/// What the nodes that wait to be evicted from an engine's first group are in the words of its policy
/// (PolicyText::rank), and what the policy evicts first. `unit`: tokens of what the engine takes for a token.
Waiting waiting_in(const Engine& engine, Units unit);

}  // namespace canopy::lab
