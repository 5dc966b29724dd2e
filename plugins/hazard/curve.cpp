#include "curve.h"

#include <algorithm>

namespace canopy::hazard {
namespace {

/// Standard deviations, for independent observations, that a rise must have. Real observations come in bunches: a rise
/// of 3.5 is often chance, and then costs up to 2 % of lru's hits.
constexpr double kRise = 8;

/// Returns the time that a token occupies its room in a bin, on average: a return comes in the middle of it.
double occupied_in(std::size_t bin, double hazard) { return bin_width(bin) * (1 - 0.5 * hazard); }

/// Returns the hazard of a bin with this rate of returns per token and unit of time.
double hazard_of(double rate, std::size_t bin) {
  const double all = rate * bin_width(bin);
  return std::min(0.99, all / (1 + 0.5 * all));
}

/// Consecutive bins with the same rate.
struct Plateau {
  double rate, width;
  double returned, exposed;  ///< observations, and the time that they were at risk
  std::size_t bins;
};

/// Returns true if the second rate is higher by more than chance explains if both are really the same.
bool is_rise(const Plateau& first, const Plateau& second) {
  const double both = first.returned + second.returned;
  const double share = second.exposed / (first.exposed + second.exposed);
  const double more = second.returned - both * share;
  return more * more > kRise * kRise * kFadedVariance * both * share * (1 - share);
}

/// Computes the index of each bin and the best bin to give a token up: a bin is joined with the following stretches as
/// long as the next one brings more for its time than what was joined so far.
void best_ratios(const Hazards& hazards, const std::array<double, kBins>& by_age, Curve& curve) {
  struct Stretch {
    double hits, time, alive, ratio;
    std::uint8_t last;
  };
  std::array<Stretch, kBins> behind;
  std::size_t count = 0;
  for (std::size_t bin = kBins; bin-- > 0;) {
    const double hazard = hazards[bin], occupied = occupied_in(bin, hazard);
    Stretch all{hazard, occupied, 1 - hazard, hazard / occupied, static_cast<std::uint8_t>(bin)};
    for (; count > 0 && behind[count - 1].ratio > all.ratio; --count) {
      const Stretch& next = behind[count - 1];
      all.hits += all.alive * next.hits;
      all.time += all.alive * next.time;
      all.alive *= next.alive;
      all.ratio = all.hits / all.time;
      all.last = next.last;
    }
    curve.index[bin] = static_cast<float>(all.ratio * kAgesPerTurnover * by_age[bin]);
    curve.stop[bin] = all.last;
    behind[count++] = all;
  }
}

}  // namespace

void smooth_behind_peak(Believed& believed) {
  std::array<double, kBins> rates;
  for (std::size_t bin = 0; bin < kBins; ++bin)
    rates[bin] = believed.hazards[bin] / occupied_in(bin, believed.hazards[bin]);
  const auto peak = static_cast<std::size_t>(std::max_element(rates.begin(), rates.end()) - rates.begin());

  std::array<Plateau, kBins> plateaus;
  std::size_t count = 0;
  for (std::size_t bin = peak; bin < kBins; ++bin) {
    const double hazard = believed.hazards[bin], seen = believed.seen[bin];
    Plateau last{rates[bin], bin_width(bin), seen * hazard, seen * occupied_in(bin, hazard), 1};
    for (; count > 0 && plateaus[count - 1].rate < last.rate && !is_rise(plateaus[count - 1], last); --count) {
      const Plateau& before = plateaus[count - 1];
      const double width = before.width + last.width;
      last = {(before.rate * before.width + last.rate * last.width) / width, width, before.returned + last.returned,
              before.exposed + last.exposed, before.bins + last.bins};
    }
    plateaus[count++] = last;
  }
  std::size_t bin = peak;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t end = bin + plateaus[i].bins; bin < end; ++bin)
      if (plateaus[i].bins > 1) believed.hazards[bin] = hazard_of(plateaus[i].rate, bin);
}

void read_off(Believed believed, const std::array<double, kBins>& by_age, Curve& curve) {
  smooth_behind_peak(believed);
  best_ratios(believed.hazards, by_age, curve);
  curve.read = true;
}

}  // namespace canopy::hazard
