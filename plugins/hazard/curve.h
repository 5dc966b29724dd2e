#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "age_bins.h"
#include "reuse_counts.h"

namespace canopy::hazard {

/// The hazards of a class, and how many observations each of them stands for.
struct Believed {
  Hazards hazards{};
  std::array<double, kBins> seen{};
};

/// For each age the hits that a token of a class can still bring for each turnover that it occupies, if it is kept
/// until the best age to give it up: the Gittins index, times what caution makes of the age (Caution). What has the
/// lowest is evicted first.
struct Curve {
  std::array<float, kBins> index{};        ///< at the youngest age of each bin
  std::array<std::uint8_t, kBins> stop{};  ///< the bin at whose end it is best given up
  bool read = false;                       ///< index and stop are there
};

/// Reads the curve off what is believed. `by_age`: the factors of caution.
void read_off(Believed believed, const std::array<double, kBins>& by_age, Curve& curve);

/// Behind the bin with the highest rate, bins with a higher rate than those before them get the rate of all of them
/// together: rates of few observations rise and fall by chance. A rise that is far more than chance stays, as where
/// sessions come back at one of two paces.
void smooth_behind_peak(Believed& believed);

}  // namespace canopy::hazard
