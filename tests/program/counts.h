#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace canopy::program {

/// Adds the counts of another run. REQUIRES: all fields are of the type std::uint64_t.
template <class Counts>
void add_counts(Counts& to, const Counts& from) {
  using All = std::array<std::uint64_t, sizeof(Counts) / sizeof(std::uint64_t)>;
  All sums = std::bit_cast<All>(to);
  const All more = std::bit_cast<All>(from);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  to = std::bit_cast<Counts>(sums);
}

}  // namespace canopy::program
