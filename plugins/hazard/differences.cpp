#include "differences.h"

#include <algorithm>
#include <cmath>

namespace canopy::hazard {
namespace {

constexpr double kDeviations = 2.5;  ///< above the mean by chance: reached by chance once in fifty times
constexpr double kLeast = 0.25;      ///< a class with a smaller variance of its returns proves nothing

}  // namespace

void Differences::add(const ReuseByAge& counts, const Hazards& common) {
  double more = 0, squares = 0, variance = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double expected = (counts[bin].returned + counts[bin].survived) * common[bin];
    const double difference = counts[bin].returned - expected;
    more += difference;
    squares += difference * difference;
    variance += expected * (1 - common[bin]);
  }
  if (variance < kLeast) return;
  in_all_ += more * more / variance;
  bin_by_bin_ += squares / variance;
  ++classes_;
}

double Differences::proven() const {
  if (classes_ == 0) return 0;
  const auto classes = static_cast<double>(classes_);
  const double by_chance = kFadedVariance * (classes + kDeviations * std::sqrt(2 * classes));
  return std::max(0.0, 1 - by_chance / std::max(in_all_, bin_by_bin_));
}

}  // namespace canopy::hazard
