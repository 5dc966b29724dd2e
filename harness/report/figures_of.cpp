#include "figures_of.h"

#include <algorithm>

namespace canopy::report {

std::vector<Contender> contenders_of(const lab::Comparison& comparison) {
  std::vector<Contender> all;
  std::size_t style = 0;
  for (const std::string& name : comparison.policies) {
    using Kind = Contender::Kind;
    const Kind kind = name == "optimum" ? Kind::optimum : name == "infinite" ? Kind::infinite : Kind::policy;
    all.push_back({name, kind, kind == Kind::policy ? style++ : 0});
  }
  return all;
}

const lab::Row* row_of(const lab::Comparison& comparison, const std::string& policy, std::uint64_t capacity) {
  for (const lab::Row& row : comparison.rows)
    if (row.policy == policy && row.capacity_tokens.value_or(capacity) == capacity) return &row;
  return nullptr;
}

std::string capacity_name(const lab::Comparison& comparison, std::size_t capacity) {
  return capacity < comparison.capacity_names.size() ? comparison.capacity_names[capacity]
                                                     : std::to_string(comparison.capacities[capacity]);
}

std::string capacity_words(const lab::Comparison& comparison, std::size_t capacity) {
  return capacity_name(comparison, capacity) + (comparison.bytes_per_token ? "" : " tokens");
}

std::string baseline_of(const lab::Comparison& comparison) {
  std::string first;
  for (const Contender& contender : contenders_of(comparison)) {
    if (contender.kind != Contender::Kind::policy) continue;
    if (contender.name == "lru") return contender.name;
    if (first.empty()) first = contender.name;
  }
  return first;
}

const lab::Row* best_of(const lab::Comparison& comparison, std::size_t capacity) {
  const lab::Row* best = nullptr;
  for (const Contender& contender : contenders_of(comparison)) {
    if (contender.kind != Contender::Kind::policy) continue;
    const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[capacity]);
    if (row && (!best || row->hit_tokens > best->hit_tokens)) best = row;
  }
  return best;
}

std::size_t telling_capacity(const lab::Comparison& comparison) {
  const std::string baseline = baseline_of(comparison);
  std::size_t telling = 0;
  std::uint64_t widest = 0;
  for (std::size_t i = 0; i < comparison.capacities.size(); ++i) {
    const lab::Row *best = best_of(comparison, i), *base = row_of(comparison, baseline, comparison.capacities[i]);
    if (!best || !base || best->hit_tokens - base->hit_tokens <= widest) continue;
    widest = best->hit_tokens - base->hit_tokens;
    telling = i;
  }
  return telling;
}

Saved saved_by(std::uint64_t tokens, const Prices& prices) {
  const double hours = static_cast<double>(tokens) / prices.tokens_per_second / 3600;
  return {hours, hours * prices.gpu_hour};
}

std::optional<double> month_over_trace(const lab::Comparison& comparison) {
  constexpr double kMonthMs = 30.0 * 86'400'000;
  if (comparison.trace_ms == 0) return {};
  return kMonthMs / static_cast<double>(comparison.trace_ms);
}

}  // namespace canopy::report
