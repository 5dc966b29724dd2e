#pragma once

#include <canopy/engine/engine_config.h>

#include <string>

#include <cache/cache_state.h>

namespace canopy {

/// Returns a text that describes the meaning of the bytes in an engine's records: the model, the layout and the format
/// of a record. Engines with the same text may share records. The fingerprint is its SHA-256.
std::string fingerprint_text(const EngineConfig& config, const CacheState& device);
/// Returns the text for the records of one group.
std::string fingerprint_text(const EngineConfig& config, const CacheState& device, std::size_t group);

}  // namespace canopy
