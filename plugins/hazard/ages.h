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

/// The bins in which ages are counted. The first ends at 8, then two bins make an octave: 12, 16, 24 and so on to about
/// eight turnovers. Older ages are not counted.
inline constexpr std::size_t kBins = 21;
/// Returns an age's exponent and the first bit of its mantissa.
constexpr std::uint64_t half_octave(double age) { return std::bit_cast<std::uint64_t>(age) >> 51; }
inline constexpr std::array<double, kBins + 1> kBinEdges = [] {
  std::array<double, kBins + 1> edges{};
  for (std::size_t i = 1; i <= kBins; ++i) edges[i] = std::bit_cast<double>((half_octave(8) + i - 1) << 51);
  return edges;
}();
constexpr double bin_width(std::size_t bin) { return kBinEdges[bin + 1] - kBinEdges[bin]; }
/// Returns the bin of an age, or kBins if it is beyond the last one. REQUIRES: age >= 0.
inline std::size_t bin_of(double age) {
  return age < kBinEdges[1] ? 0 : std::min<std::size_t>(half_octave(age) - half_octave(8) + 1, kBins);
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
