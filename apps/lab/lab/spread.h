#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comparison.h"

namespace canopy::lab {

/// Returns the mean of independent values and its 95 % interval by Student's t distribution. REQUIRES: two or more.
Interval mean_of(std::span<const double> values);

/// Stretches of requests into which a trace is divided, so that its error can be estimated from their differences.
inline constexpr std::size_t kStretches = 50;

/// Returns a figure of a trace and its 95 % interval by a block bootstrap: draws as many stretches as there are, with
/// repetition, 2,000 times, and takes the 2.5th and 97.5th percentile. The draws are the same on every call. `figure`
/// computes it from how often each stretch is taken; the figure of the whole trace takes each once.
Interval bootstrap(std::size_t stretches, const std::function<double(std::span<const std::uint32_t> times)>& figure);

/// Fills Row::gain of each row against the row of the first policy at its capacity, from stretches of one trace. Rows
/// and gains stay without an interval if there are too few requests for kStretches stretches.
void add_intervals(Comparison& comparison);

/// Returns comparisons of several seeds of a workload as one. Tokens and times are sums, rates and shares are means,
/// and each row has intervals and its figures by seed. REQUIRES: two or more, with the same policies and capacities,
/// none of them incomplete.
Comparison merged(std::vector<Comparison> all);

}  // namespace canopy::lab
