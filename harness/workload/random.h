#pragma once

#include <canopy/support/random.h>

namespace canopy::workload {

/// A seed of its own for everything that is numbered under another seed.
constexpr std::uint64_t derive(std::uint64_t seed, std::uint64_t what, std::uint64_t number = 0) {
  return splitmix64(splitmix64(splitmix64(seed) + what) + number);
}

/// The decisions of a workload begin with the second number of their seed: the digest of every workload depends on it.
constexpr Random decisions(std::uint64_t seed) { return Random(seed, 1); }

}  // namespace canopy::workload
