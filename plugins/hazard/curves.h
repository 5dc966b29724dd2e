#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "curve.h"
#include "reuse_counts.h"

namespace canopy::hazard {

/// The curve of each class, from a hierarchy of estimates. In a bin with `all` = returned + survived observations:
///
///   hazard = common + proven * (returned - all * common) / (all + 8)
///
/// `common` is the hazard of the next coarser group. The groups are: the class; classes with the same hint and number
/// of uses (if several hints have counts); classes with the same number of uses; all classes. The last one has 4 in
/// place of 8, proven = 1, and for `common` a prior of about 0.3 / age, under which the oldest token has the lowest
/// index: without data the order is that of lru. `proven` is the part of the differences that chance does not explain
/// (Differences).
class Curves {
 public:
  Curves();

  /// Estimates the curves from these counts. The index is divided by age^caution.
  void fit(const ReuseCounts& counts, double caution);
  /// Returns true if `fit` has seen any data.
  bool learned() const { return learned_; }
  /// The values of a curve at an age.
  struct Reading {
    double index = 0;
    std::size_t bin = 0;   ///< bin_of(age)
    std::size_t stop = 0;  ///< bin at whose end to give the token up; the last bin's if it is older than all bins
  };
  /// Returns the reading at an age, interpolated between bins. REQUIRES: of_class < kClasses, age >= 0.
  Reading at(std::size_t of_class, double age) const {
    const std::size_t bin = bin_of(age);
    const Curve& curve = this->curve(of_class);
    if (bin >= kBins - 1) return {curve.index[kBins - 1], bin, curve.stop[kBins - 1]};
    const double share = (age - kBinEdges[bin]) * kPerWidth[bin], index = curve.index[bin];
    return {index + (curve.index[bin + 1] - index) * share, bin, curve.stop[bin]};
  }
  double index(std::size_t of_class, double age) const { return at(of_class, age).index; }

 private:
  /// Returns a class's curve and computes it on its first use: few of the classes with counts have nodes in the queue.
  const Curve& curve(std::size_t of_class) const {
    const std::size_t at = curve_of_[of_class];
    Curve& one = curves_[at];
    if (!one.read) [[unlikely]]
      read_off(believed_[at], by_age_, one);
    return one;
  }
  void forget_hints();

  std::array<std::uint16_t, kClasses> curve_of_;
  // The first ones are for all classes with the same number of uses. A curve is small because each rank reads one.
  mutable std::vector<Curve> curves_;
  std::vector<Believed> believed_;                                 ///< estimates from which each curve is computed
  std::array<bool, kHints> hinted_{};                              ///< hints that had counts at the last fit
  std::array<std::array<ReuseByAge, kAccesses>, kHints> of_hint_;  ///< sums, while `fit` runs
  std::array<double, kBins> by_age_;  ///< last fit's factor of caution for the age at which a bin begins
  bool learned_ = false;
};

}  // namespace canopy::hazard
