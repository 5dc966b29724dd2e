#pragma once

#include <lab/comparison.h>

#include <string>

namespace canopy::report {

/// Hit rate over capacity, a line for each policy, the optimum and the infinite cache as what nothing exceeds.
std::string hit_chart(const lab::Comparison& comparison);

/// What was evicted too early at a capacity, by age, depth and turn; empty where no policy has such figures.
std::string regret_charts(const lab::Comparison& comparison, std::size_t capacity);

/// A mark for each policy with its name.
std::string legend(const lab::Comparison& comparison);

}  // namespace canopy::report
