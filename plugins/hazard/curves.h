#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reuse_counts.h"

namespace canopy::hazard {

/// For each class and age the hits that a token can still bring for each turnover that it occupies, if it is kept until
/// the best age to give it up: the Gittins index of the class's hazard curve. What has the lowest is evicted first.
///
/// The hazard of a bin is its returns over what returned or survived, where 16 observations more are as in the classes
/// of equally many uses, these as in all classes, and those as in a curve in proportion to 1/age. For the last one the
/// oldest has the lowest index: without data the order is that of lru.
class Curves {
 public:
  struct Curve {
    std::array<double, kBins> index{};       ///< at the youngest age of each bin
    std::array<std::uint8_t, kBins> stop{};  ///< the bin at whose end it is best given up
  };
  Curves();

  /// Reads the curves off the counts.
  void fit(const ReuseCounts& counts);
  /// Whether `fit` has seen any data.
  bool learned() const { return learned_; }
  /// The bin at whose end a token of this class and bin is best given up; of what is older than all bins, the last
  /// one. REQUIRES: of_class < kClasses.
  std::size_t stop(std::size_t of_class, std::size_t bin) const {
    return curves_[curve_of_[of_class]].stop[std::min(bin, kBins - 1)];
  }
  /// REQUIRES: of_class < kClasses, age >= 0.
  double index(std::size_t of_class, double age) const {
    const std::size_t bin = bin_of(age);
    const auto& curve = curves_[curve_of_[of_class]].index;
    if (bin >= kBins - 1) return curve[kBins - 1];
    const double share = (age - kBinEdges[bin]) * kPerWidth[bin];
    return curve[bin] + (curve[bin + 1] - curve[bin]) * share;
  }

 private:
  std::array<std::uint16_t, kClasses> curve_of_{};
  std::vector<Curve> curves_;
  bool learned_ = false;
};

}  // namespace canopy::hazard
