#pragma once

#include <canopy/eviction_strategy.h>

#include <array>
#include <string>

#include "age_bins.h"
#include "classes.h"

namespace canopy::hazard {

// A rank's minor word is when the node was used last, and below that what a person wants to know of the node: its
// class, its age, and the age by which its curve expects the hits. Two nodes that differ in nothing above those bits
// are evicted in their order, which is as good as the order of slots.

/// How `rank_minor` packs them, as PolicyText::rank reads it.
const std::string& rank_form();

/// What a node's curve says of it: `age` and the best age to give it up.
struct Outlook {
  std::size_t age_bin = 0;   ///< bin_of(age)
  std::size_t stop_bin = 0;  ///< the bin at whose end it is best given up; kBins: nothing was learned yet
};

inline constexpr int kWordBits = 22;

/// The bits of each class.
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

/// A node that was used, of this class.
constexpr std::uint64_t rank_minor(Tick used, std::size_t of_class, const Outlook& outlook) {
  return used << kWordBits | kClassBits[of_class] | outlook.age_bin << 12 | outlook.stop_bin << 17;
}
/// A node that no request has used.
constexpr std::uint64_t rank_minor_unused(Tick created) { return created << kWordBits; }

static_assert(kAccesses + 1 <= 8 && kNews <= 8 && kAnswers <= 2 && kExpectations <= 4 && hint::kMostClass < 8);
static_assert(kBins < 32);

}  // namespace canopy::hazard
