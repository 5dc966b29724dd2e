#pragma once

#include <cstddef>

#include "reuse_counts.h"

namespace canopy::hazard {

/// Whether classes differ from a curve that they have in common, or seem to by chance. Where nothing distinguishes them
/// their counts differ all the same, and a policy that believes them evicts by lot: on such traffic that costs up to
/// 3.5 % of lru's hits.
///
/// Of each class is summed up by how much its returns differ from those that the common curve expects of it, once over
/// all bins together and once bin by bin. The squares of both, over the variance of the returns, are 1 in the mean if
/// only chance is at work; kFadedVariance of that for counts that fade.
class Differences {
 public:
  /// Counts one class. Each class once.
  void add(const ReuseByAge& counts, const Hazards& common);
  /// How much of the differences is to be believed: 0 if chance makes as large ones, near 1 if it never does.
  double proven() const;

 private:
  std::size_t classes_ = 0;             ///< of which any returns were expected
  double in_all_ = 0, bin_by_bin_ = 0;  ///< sums over the classes
};

}  // namespace canopy::hazard
