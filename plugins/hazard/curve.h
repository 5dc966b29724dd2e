#pragma once

#include <array>

#include "ages.h"

namespace canopy::hazard {

/// The probability, for each bin, that a prefix which reaches the bin is used again in it.
using Hazards = std::array<double, kBins>;

/// Returns the Gittins index at the youngest age of each bin: expected hits per token and turnover of occupancy, if a
/// token is kept until the best age to give it up. The lowest index is evicted first.
std::array<float, kBins> indexes_of(const Hazards& hazards);

}  // namespace canopy::hazard
