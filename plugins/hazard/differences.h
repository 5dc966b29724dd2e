#pragma once

#include <cstddef>

#include "reuse_counts.h"

namespace canopy::hazard {

/// Tests whether classes really differ from their common curve or only by chance. Without this test, classes that
/// differ only by noise amount to random eviction, which costs up to 3.5 % of lru's hits.
///
/// For each class with returns r_b, expected returns e_b = n_b * h_b and variance V = sum of e_b * (1 - h_b) over bins
/// b, accumulates the squared deviations from the common hazards h:
///
///   (sum of (r_b - e_b))^2 / V over all bins together, and sum of (r_b - e_b)^2 / V bin by bin.
///
/// If only chance is at work, both have mean 1, or kFadedVariance for counts that fade.
class Differences {
 public:
  /// Adds one class. REQUIRES: the class was not added before.
  void add(const ReuseByAge& counts, const Hazards& common);
  /// Returns the part of the differences that is not explained by chance: max(0, 1 - c / d), where d is the larger sum
  /// over the n classes and c = kFadedVariance * (n + 2.5 * sqrt(2 * n)). 0 if there are no classes.
  double proven() const;

 private:
  std::size_t classes_ = 0;             ///< classes with a variance of at least 0.25
  double in_all_ = 0, bin_by_bin_ = 0;  ///< sums over the classes
};

}  // namespace canopy::hazard
