#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "age_bins.h"
#include "classes.h"

namespace canopy::hazard {

/// Counts of one class and bin: the weight that was used again at these ages, and the weight that was not and grew
/// older.
struct Reuse {
  double returned = 0, survived = 0;
  Reuse& operator+=(const Reuse& other) {
    returned += other.returned, survived += other.survived;
    return *this;
  }
};
using ReuseByAge = std::array<Reuse, kBins>;
/// The probability, for each bin, that a prefix which reaches the bin returns in it.
using Hazards = std::array<double, kBins>;

/// The variance of a fading count relative to one that does not fade: a count that faded to half its weight has a
/// quarter of its variance.
inline constexpr double kFadedVariance = 0.5;

/// The counts of each class and bin. They fade, so that a change of the traffic is learned.
class ReuseCounts {
 public:
  ReuseCounts() : classes_(kClasses) {}

  /// Adds to one bin. REQUIRES: of_class < kClasses, bin < kBins.
  void add(std::size_t of_class, std::size_t bin, const Reuse& more) { add(of_class, bin, bin + 1, more); }
  /// Adds to a bin. What survived the bin also survived all bins before `end`. REQUIRES: bin < end <= kBins.
  void add(std::size_t of_class, std::size_t bin, std::size_t end, const Reuse& more) {
    Class& counts = classes_[of_class];
    if (!counts.known) [[unlikely]]
      counts.known = true, known_.push_back(of_class);
    counts.by_age[bin].returned += more.returned;
    for (; bin < end; ++bin) counts.by_age[bin].survived += more.survived;
    changed_ = true;
  }
  /// Multiplies all counts by `part`.
  void fade(double part);

  /// Returns the classes that ever had a count, ordered by their first count.
  const std::vector<std::size_t>& known() const { return known_; }
  const ReuseByAge& of(std::size_t of_class) const { return classes_[of_class].by_age; }

  double weight() const;                     ///< sum of all counts
  bool changed() const { return changed_; }  ///< true if counts were added since the last fade

 private:
  struct Class {
    ReuseByAge by_age{};
    bool known = false;
  };
  std::vector<Class> classes_;
  std::vector<std::size_t> known_;
  bool changed_ = false;
};

}  // namespace canopy::hazard
