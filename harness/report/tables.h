#pragma once

#include <lab/comparison.h>

#include <string>

#include "figures_of.h"

namespace canopy::report {

/// Every row's figures.
std::string figures_table(const lab::Comparison& comparison);
/// What each policy saves at a capacity, with prices that the reader can change.
std::string savings_table(const lab::Comparison& comparison, std::size_t capacity, const Prices& prices);
/// What each policy evicted at a capacity, and how much of it was asked for again.
std::string evicted_table(const lab::Comparison& comparison, std::size_t capacity);
/// Hit rates of each policy at a capacity, by parts of the requests; empty where the parts are not known.
std::string slices_table(const lab::Comparison& comparison, std::size_t capacity);
/// Digest and seed of every run.
/// What waited at the end of each policy's run at a capacity, in the policy's words; empty where none says any.
std::string waiting_tables(const lab::Comparison& comparison, std::size_t capacity);
std::string digests_table(const lab::Comparison& comparison);

}  // namespace canopy::report
