#pragma once

#include <canopy/eviction_strategy.h>

#include <array>
#include <string>

#include "age_bins.h"
#include "classes.h"

namespace canopy::hazard {

// A rank's minor word is the time of the node's last use. Its lower bits describe the node for people: its class, its
// age, and the age by which its curve expects the hits. Nodes that differ only in these bits are evicted in the order
// of the bits, which is as good as the order of slots.

/// Returns the format of `rank_minor` for PolicyText::rank.
const std::string& rank_form();

/// A node's position on its curve: its age and the best age to give it up.
struct Outlook {
  std::size_t age_bin = 0;   ///< bin_of(age)
  std::size_t stop_bin = 0;  ///< bin at whose end it is best to give the node up; kBins if nothing was learned yet
};

inline constexpr int kWordBits = 22;

/// The descriptive bits of each class.
inline constexpr std::array<std::uint16_t, kClasses> kClassBits = [] {
  std::array<std::uint16_t, kClasses> bits{};
  for (std::size_t k = 0; k < kClasses; ++k) {
    const std::size_t accesses = k % kAccesses, news = k / kAccesses % kNews;
    const std::size_t answer = k / (kAccesses * kNews) % kAnswers, hints = k / kClassesOfHint;
    const std::size_t expectation = hints / (hint::kMostClass + 1), client = hints % (hint::kMostClass + 1);
    bits[k] = static_cast<std::uint16_t>((accesses + 1) | news << 3 | answer << 6 | expectation << 7 | client << 9);
  }
  return bits;
}();

/// Returns the minor word of a used node of this class.
constexpr std::uint64_t rank_minor(Tick used, std::size_t of_class, const Outlook& outlook) {
  return used << kWordBits | kClassBits[of_class] | outlook.age_bin << 12 | outlook.stop_bin << 17;
}
/// Returns the minor word of a node that no request has used.
constexpr std::uint64_t rank_minor_unused(Tick created) { return created << kWordBits; }

static_assert(kAccesses + 1 <= 8 && kNews <= 8 && kAnswers <= 2 && kExpectations <= 4 && hint::kMostClass < 8);
static_assert(kBins < 32);

}  // namespace canopy::hazard
