#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>
#include <canopy/engine/engine_config.h>

#include <cstdint>
#include <string>

namespace canopy::check {

/// Returns the text of an engine file with small pools, made up from the seed: page size, key codec, groups with their
/// reach and their gaps, policies, accounting, allocators, stores, segments, limits. The file is always valid.
std::string made_up_engine(std::uint64_t seed, const Registry& registry);

/// Returns the text of a file for a given engine: its page size, key, index, groups and policies, with small pools that
/// run out of pages, short rows on the host, and a simulated storage instead of one on a disk or a server, whose
/// records this engine must not use and whose timing is not fixed.
std::string made_small(EngineConfig engine, std::uint64_t seed, const Registry& registry);

}  // namespace canopy::check
