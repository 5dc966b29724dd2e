#pragma once

#include <canopy/base/random.h>

namespace canopy::workload {

/// Returns a separate seed for element `number` of a numbered set under another seed.
constexpr std::uint64_t derive(std::uint64_t seed, std::uint64_t what, std::uint64_t number = 0) {
  return splitmix64(splitmix64(splitmix64(seed) + what) + number);
}

/// Returns the generator of a workload's decisions. It begins with the second number of its seed: the digest of every
/// workload depends on it.
constexpr Random decisions(std::uint64_t seed) { return Random(seed, 1); }

}  // namespace canopy::workload
