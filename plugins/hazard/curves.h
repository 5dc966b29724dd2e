#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "curve.h"
#include "reuse_counts.h"

namespace canopy::hazard {

/// The curve of each class.
///
/// The hazard of a bin is its returns over what returned or survived, where 8 observations more are as in the classes
/// of equally many uses, these as in all classes, and those as in a curve in proportion to 1/age. For the last one the
/// oldest has the lowest index: without data the order is that of lru. Curves depart from the next coarser one only as
/// far as it is proven that they differ from it by more than chance (Differences).
class Curves {
 public:
  Curves();

  /// Makes the curves of these counts. What they expect is divided by the age to the power of `caution`.
  void fit(const ReuseCounts& counts, double caution);
  /// Whether `fit` has seen any data.
  bool learned() const { return learned_; }
  /// What a curve says of an age.
  struct Reading {
    double index = 0;
    std::size_t bin = 0;   ///< bin_of(age)
    std::size_t stop = 0;  ///< the bin at whose end it is best given up; the last one for what is older than all bins
  };
  /// REQUIRES: of_class < kClasses, age >= 0.
  Reading at(std::size_t of_class, double age) const {
    const std::size_t bin = bin_of(age);
    const Curve& curve = this->curve(of_class);
    if (bin >= kBins - 1) return {curve.index[kBins - 1], bin, curve.stop[kBins - 1]};
    const double share = (age - kBinEdges[bin]) * kPerWidth[bin], index = curve.index[bin];
    return {index + (curve.index[bin + 1] - index) * share, bin, curve.stop[bin]};
  }
  double index(std::size_t of_class, double age) const { return at(of_class, age).index; }

 private:
  /// Read off its hazards when it is first asked for: of the classes with counts, few have nodes that wait.
  const Curve& curve(std::size_t of_class) const {
    const std::size_t at = curve_of_[of_class];
    Curve& one = curves_[at];
    if (!one.read) [[unlikely]]
      read_off(believed_[at], by_age_, one);
    return one;
  }
  void forget_hints();

  std::array<std::uint16_t, kClasses> curve_of_;
  // The first ones are those of all classes of equally many uses. A curve is small, for ranks read it all the time.
  mutable std::vector<Curve> curves_;
  std::vector<Believed> believed_;                                 ///< what each curve is read off from
  std::array<bool, kHints> hinted_{};                              ///< which hints had counts at the last fit
  std::array<std::array<ReuseByAge, kAccesses>, kHints> of_hint_;  ///< sums, while `fit` runs
  std::array<double, kBins> by_age_;  ///< what the last fit's caution makes of the age at which a bin begins
  bool learned_ = false;
};

}  // namespace canopy::hazard
