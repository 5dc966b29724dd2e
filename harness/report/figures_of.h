#pragma once

#include <lab/comparison.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace canopy::report {

/// What the parts of a page ask of a comparison.

/// A policy of the comparison, and how it is drawn.
struct Contender {
  enum class Kind { policy, optimum, infinite };
  std::string name;
  Kind kind = Kind::policy;
  std::size_t style = 0;
};
std::vector<Contender> contenders_of(const lab::Comparison& comparison);

/// The row of a policy; of the infinite cache at any capacity. Null: it was not run.
const lab::Row* row_of(const lab::Comparison& comparison, const std::string& policy, std::uint64_t capacity);
/// How a capacity was asked for: "3M".
std::string capacity_name(const lab::Comparison& comparison, std::size_t capacity);
/// "3M tokens", or "80GiB" where it was asked for as memory.
std::string capacity_words(const lab::Comparison& comparison, std::size_t capacity);

/// What the others are held against: lru, or else the first policy. Empty: there is none.
std::string baseline_of(const lab::Comparison& comparison);
/// The policy with the most hits at a capacity; the first of equals. Null: there is none.
const lab::Row* best_of(const lab::Comparison& comparison, std::size_t capacity);
/// The capacity that a page shows first: where the choice of a policy matters most.
std::size_t telling_capacity(const lab::Comparison& comparison);

/// Prefill of one GPU, and what it costs: what a reader changes.
struct Prices {
  double tokens_per_second = 10'000, gpu_hour = 2.5;
};
struct Saved {
  double gpu_hours = 0, money = 0;
};
Saved saved_by(std::uint64_t tokens, const Prices& prices);
/// What 30 days would have of what the trace has; none where the trace has no times.
std::optional<double> month_over_trace(const lab::Comparison& comparison);

}  // namespace canopy::report
