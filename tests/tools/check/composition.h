#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine_config.h>

#include <cstdint>
#include <string>
#include <vector>

#include "draw.h"
#include "random_operations.h"

namespace canopy::check {

/// Most operations in the lifetime of one engine, or of those over one storage.
inline constexpr std::uint64_t kEpisode = 2048;

/// An engine, its ranks, and the settings of its use.
struct Composition {
  std::string engine;  ///< text of the engine's file
  unsigned ranks = 1;
  RandomOperations::Settings use;
};

/// Returns what a row stands for, with small pools. `seed`: for numbers that the row leaves open; no number decides
/// whether the engine is refused.
Composition composition_of(const Combination& row, const std::vector<Setting>& settings, std::uint64_t seed,
                           const Registry& registry);

/// Returns the text of a file for a given engine: its page size, key, index, groups and policies, with small pools that
/// run out of pages, short rows on the host, and a simulated storage instead of one on a disk or a server, whose
/// records this engine must not use and whose timing is not fixed.
std::string made_small(EngineConfig engine, std::uint64_t seed, const Registry& registry);

}  // namespace canopy::check
