#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace canopy::hazard {

/// Ages are in thousandths of a turnover: a node has age 1 when tokens worth a thousandth of the pool's capacity were
/// inserted after it. Seconds are not used, so the pace of the traffic changes nothing.
inline constexpr double kAgesPerTurnover = 1000;

/// The bins in which ages are counted. The first ends at 10, each later one at 1.25 times the end before it, the last
/// at about eight turnovers. Older ages are not counted.
inline constexpr std::size_t kBins = 31;
inline constexpr std::array<double, kBins + 1> kBinEdges = [] {
  std::array<double, kBins + 1> edges{};
  double edge = 10;
  for (std::size_t i = 1; i <= kBins; ++i, edge *= 1.25) edges[i] = edge;
  return edges;
}();
constexpr double bin_width(std::size_t bin) { return kBinEdges[bin + 1] - kBinEdges[bin]; }
/// 1 / bin_width: a product costs less than a division.
inline constexpr std::array<double, kBins> kPerWidth = [] {
  std::array<double, kBins> per{};
  for (std::size_t i = 0; i < kBins; ++i) per[i] = 1 / bin_width(i);
  return per;
}();

namespace detail {

/// Steps of at most an eighth: a positive number's exponent and three bits of its mantissa.
constexpr int kStepBits = 20;
constexpr std::uint32_t step_of(float age) { return std::bit_cast<std::uint32_t>(age) >> kStepBits; }
inline constexpr std::uint32_t kFirstStep = step_of(8);
/// The bin in which each step begins. A step contains at most one edge, so bin_of checks one edge.
inline constexpr auto kBinOfStep = [] {
  std::array<std::uint8_t, step_of(static_cast<float>(kBinEdges[kBins])) - kFirstStep + 1> bins{};
  for (std::uint32_t i = 0; i < bins.size(); ++i) {
    const float begin = std::bit_cast<float>((kFirstStep + i) << kStepBits);
    // An age just below `begin` can be rounded up to it.
    const double least = static_cast<double>(begin) * (1 - 1e-6);
    while (bins[i] + 1U < kBins && kBinEdges[bins[i] + 1U] <= least) ++bins[i];
  }
  return bins;
}();

}  // namespace detail

/// Returns the bin of an age, or kBins if it is beyond the last one. REQUIRES: age >= 0.
inline std::size_t bin_of(double age) {
  if (age < kBinEdges[1]) return 0;
  if (!(age < kBinEdges[kBins])) return kBins;
  const std::size_t bin = detail::kBinOfStep[detail::step_of(static_cast<float>(age)) - detail::kFirstStep];
  return bin + (kBinEdges[bin + 1] <= age);
}

}  // namespace canopy::hazard
