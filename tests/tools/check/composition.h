#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>
#include <canopy/engine/engine_config.h>

#include <cstdint>
#include <string>

namespace canopy::check {

/// The text of an engine's file with small pools, whose parts follow from the seed: page size, key codec, groups with
/// their reach and their gaps, policies, accounting, allocators, stores, segments, limits. It is always a valid one.
std::string made_up_engine(std::uint64_t seed, const Registry& registry);

/// The same for an engine that is given: its page size, key, index, groups and policies; with small pools, so that
/// they run out of pages, short rows on the host, and a simulated storage in place of one on a disk or a server, whose
/// records are not this engine's to use, and which answers when it likes.
std::string made_small(EngineConfig engine, std::uint64_t seed, const Registry& registry);

}  // namespace canopy::check
