#pragma once

#include <canopy/policy_facts.h>

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

/// The bin in which each step of at most an eighth begins; a step is a float's exponent and three bits of its mantissa.
/// It contains one edge at most, so bin_of compares with one.
constexpr std::uint32_t step_of(float age) { return std::bit_cast<std::uint32_t>(age) >> 20; }
inline constexpr std::uint32_t kFirstStep = step_of(8);
inline constexpr auto kBinOfStep = [] {
  std::array<std::uint8_t, step_of(static_cast<float>(kBinEdges[kBins])) - kFirstStep + 1> bins{};
  for (std::uint32_t i = 0; i < bins.size(); ++i) {
    // An age just below the step can be rounded up to it.
    const double least = static_cast<double>(std::bit_cast<float>((kFirstStep + i) << 20)) * (1 - 1e-6);
    while (bins[i] + 1U < kBins && kBinEdges[bins[i] + 1U] <= least) ++bins[i];
  }
  return bins;
}();
/// Returns the bin of an age, or kBins if it is beyond the last one. REQUIRES: age >= 0.
inline std::size_t bin_of(double age) {
  if (age < kBinEdges[1]) return 0;
  if (!(age < kBinEdges[kBins])) return kBins;
  const std::size_t bin = kBinOfStep[step_of(static_cast<float>(age)) - kFirstStep];
  return bin + (kBinEdges[bin + 1] <= age);
}

/// A clock that measures time in ages. It never goes back, and a change of the pool's limit does not change the time
/// that has passed.
class WorkClock {
 public:
  double now() const { return now_; }
  double capacity() const { return static_cast<double>(capacity_); }  ///< tokens; 0: no limit is known
  void follow(const PolicyClock& clock) {
    if (clock.allocated == allocated_ && clock.capacity == capacity_) return;
    if (clock.capacity == kUnlimited || clock.capacity == 0) return;
    allocated_ = clock.allocated;
    if (clock.capacity != capacity_ || clock.allocated < since_) {
      base_ = now_, since_ = clock.allocated, capacity_ = clock.capacity;
      return;
    }
    now_ = std::max(now_, base_ + kAgesPerTurnover * static_cast<double>(clock.allocated - since_) / capacity());
  }

 private:
  double now_ = 0, base_ = 0;
  std::uint64_t since_ = 0, allocated_ = 0, capacity_ = 0;
};

/// A node's word: the last use of its path, the class of that use, and whether it was a first turn. 0 if no
/// request on it has ended.
struct NodeTag {
  std::uint64_t word;
  static NodeTag of(double now, std::size_t of_class, bool first_turn) {
    return {(static_cast<std::uint64_t>(now * 1024) + 1) << 17 | std::uint64_t{first_turn} << 16 | of_class};
  }
  double age(double now) const { return std::max(0.0, now - static_cast<double>((word >> 17) - 1) / 1024); }
  std::size_t of_class() const { return word & 4095; }
  bool first_turn() const { return (word >> 16 & 1) != 0; }
};

}  // namespace canopy::hazard
