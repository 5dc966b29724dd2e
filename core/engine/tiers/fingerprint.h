#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/state.h>

#include <string>

namespace canopy {

/// What the bytes of an engine's records mean, as text: the model, the layout and the format of a record. Two engines
/// with one text may share records. The fingerprint is its SHA-256.
std::string fingerprint_text(const EngineConfig& config, const EngineState& device);
/// The same for the records of one group.
std::string fingerprint_text(const EngineConfig& config, const EngineState& device, std::size_t group);

}  // namespace canopy
