#pragma once

#include <canopy/engine/engine_config.h>

#include <string>

namespace canopy {

/// The first value of a configuration that is out of range or does not fit the others, as a sentence; empty: none.
/// Components are not looked at: making them tells.
std::string flaw_of(const EngineConfig& config);

}  // namespace canopy
