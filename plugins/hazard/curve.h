#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "age_bins.h"
#include "reuse_counts.h"

namespace canopy::hazard {

/// The estimated hazards of a class, and the number of observations behind each of them.
struct Believed {
  Hazards hazards{};
  std::array<double, kBins> seen{};
};

/// For each age, the Gittins index: expected hits per token and turnover of occupancy, if the token is kept until the
/// best age to give it up, times the factor of caution for the age (Caution). The lowest index is evicted first.
struct Curve {
  std::array<float, kBins> index{};        ///< index at the youngest age of each bin
  std::array<std::uint8_t, kBins> stop{};  ///< bin at whose end it is best to give the token up
  bool read = false;                       ///< true if index and stop are computed
};

/// Computes the curve from estimated hazards. `by_age`: the factors of caution.
void read_off(Believed believed, const std::array<double, kBins>& by_age, Curve& curve);

/// Smooths rates behind the bin with the highest rate: where a bin has a higher rate than the bins before it, all of
/// them get their common rate, because rates of few observations rise and fall by chance. A rise of more than eight
/// standard deviations stays, as where sessions return at one of two paces.
void smooth_behind_peak(Believed& believed);

}  // namespace canopy::hazard
