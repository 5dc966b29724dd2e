#pragma once

#include <array>

#include "ages.h"

namespace canopy::hazard {

/// The probability, for each bin, that a prefix which reaches the bin is used again in it.
using Hazards = std::array<double, kBins>;

/// Returns the Gittins index at the youngest age of each bin: expected hits per token and turnover of occupancy, if a
/// token is kept until the best age to give it up. The lowest index is evicted first.
std::array<float, kBins> indexes_of(const Hazards& hazards);

/// Smooths rates behind the bin with the highest rate: where a bin has a higher rate than the bins before it, all of
/// them get their common rate, because rates of few observations rise and fall by chance. A rise of more than eight
/// standard deviations stays, as where sessions return at one of two paces. `seen`: the observations of each bin.
void smooth_behind_peak(Hazards& hazards, const std::array<double, kBins>& seen);

}  // namespace canopy::hazard
