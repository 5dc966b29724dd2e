#include "curve.h"

namespace canopy::hazard {

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
    const double hazard = hazards[bin], occupied = bin_width(bin) * (1 - 0.5 * hazard);  // it returns in the middle
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
