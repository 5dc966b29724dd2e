#include "curve.h"

namespace canopy::hazard {
namespace {

/// Standard deviations, for independent observations, that a rise must have. Real observations come in bunches: a rise
/// of 3.5 is often chance.
constexpr double kRise = 8;
/// The variance of a fading count relative to one that does not fade: a count that faded to half its weight has a
/// quarter of its variance.
constexpr double kFadedVariance = 0.5;

/// Returns the time that a token occupies its room in a bin, on average: a return comes in the middle of it.
double occupied_in(std::size_t bin, double hazard) { return bin_width(bin) * (1 - 0.5 * hazard); }

/// Consecutive bins with the same rate of returns per token and unit of time.
struct Plateau {
  double rate, width;
  double returned, exposed;  ///< observations, and the time that they were at risk
  std::size_t end;           ///< the bin after the last one
};

/// Returns true if the second rate is higher by more than chance explains if both are really the same.
bool is_rise(const Plateau& first, const Plateau& second) {
  const double both = first.returned + second.returned, share = second.exposed / (first.exposed + second.exposed);
  const double more = second.returned - both * share;
  return more * more > kRise * kRise * kFadedVariance * both * share * (1 - share);
}

}  // namespace

void smooth_behind_peak(Hazards& hazards, const std::array<double, kBins>& seen) {
  Hazards rates;
  for (std::size_t bin = 0; bin < kBins; ++bin) rates[bin] = hazards[bin] / occupied_in(bin, hazards[bin]);
  const auto peak = static_cast<std::size_t>(std::max_element(rates.begin(), rates.end()) - rates.begin());
  std::array<Plateau, kBins> plateaus;
  std::size_t count = 0;
  for (std::size_t bin = peak; bin < kBins; ++bin) {
    const double h = hazards[bin];
    Plateau last{rates[bin], bin_width(bin), seen[bin] * h, seen[bin] * occupied_in(bin, h), bin + 1};
    for (; count > 0 && plateaus[count - 1].rate < last.rate && !is_rise(plateaus[count - 1], last); --count) {
      const Plateau& before = plateaus[count - 1];
      const double width = before.width + last.width;
      last = {(before.rate * before.width + last.rate * last.width) / width, width, before.returned + last.returned,
              before.exposed + last.exposed, last.end};
    }
    plateaus[count++] = last;
  }
  for (std::size_t i = 0, bin = peak; i < count; ++i)
    for (const bool joined = plateaus[i].end > bin + 1; bin < plateaus[i].end; ++bin)
      if (const double all = plateaus[i].rate * bin_width(bin); joined)
        hazards[bin] = std::min(0.99, all / (1 + 0.5 * all));
}

/// A bin is joined with the following stretches as long as the next one brings more for its time than what was joined
/// so far.
std::array<float, kBins> indexes_of(const Hazards& hazards) {
  struct Stretch {
    double hits, time, alive, ratio;
  };
  std::array<float, kBins> indexes;
  std::array<Stretch, kBins> behind;
  std::size_t count = 0;
  for (std::size_t bin = kBins; bin-- > 0;) {
    const double hazard = hazards[bin], occupied = occupied_in(bin, hazard);
    Stretch all{hazard, occupied, 1 - hazard, hazard / occupied};
    for (; count > 0 && behind[count - 1].ratio > all.ratio; --count) {
      const Stretch& next = behind[count - 1];
      all.hits += all.alive * next.hits;
      all.time += all.alive * next.time;
      all.alive *= next.alive;
      all.ratio = all.hits / all.time;
    }
    indexes[bin] = static_cast<float>(all.ratio * kAgesPerTurnover);
    behind[count++] = all;
  }
  return indexes;
}

}  // namespace canopy::hazard
