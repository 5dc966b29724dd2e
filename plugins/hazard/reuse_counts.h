#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "age_bins.h"
#include "classes.h"

namespace canopy::hazard {

/// In one class and bin: the weight of what was used again at these ages, and of what was not and grew older.
struct Reuse {
  double returned = 0, survived = 0;
  Reuse& operator+=(const Reuse& other) {
    returned += other.returned, survived += other.survived;
    return *this;
  }
};
using ReuseByAge = std::array<Reuse, kBins>;
/// The probability of a return in each bin for what is alive at its begin.
using Hazards = std::array<double, kBins>;

/// The variance of a count that fades, over that of one that does not: what faded to half its weight has a quarter of
/// its variance.
inline constexpr double kFadedVariance = 0.5;

/// What was counted, for each class and bin. It fades, so that a change of the traffic is learned.
class ReuseCounts {
 public:
  ReuseCounts() : classes_(kClasses) {}

  /// REQUIRES: of_class < kClasses, bin < kBins.
  void add(std::size_t of_class, std::size_t bin, const Reuse& more) { add(of_class, bin, bin + 1, more); }
  /// What survived the bin survived all bins before `end`, too. REQUIRES: bin < end <= kBins.
  void add(std::size_t of_class, std::size_t bin, std::size_t end, const Reuse& more) {
    Class& counts = classes_[of_class];
    if (!counts.known) [[unlikely]]
      counts.known = true, known_.push_back(of_class);
    counts.by_age[bin].returned += more.returned;
    for (; bin < end; ++bin) counts.by_age[bin].survived += more.survived;
    changed_ = true;
  }
  /// All counts become `part` of what they are.
  void fade(double part);

  /// The classes that ever had a count, in the order in which they had their first.
  const std::vector<std::size_t>& known() const { return known_; }
  const ReuseByAge& of(std::size_t of_class) const { return classes_[of_class].by_age; }

  double weight() const;                     ///< of all counts
  bool changed() const { return changed_; }  ///< since the last fade

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
