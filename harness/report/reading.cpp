#include "reading.h"

#include "figures_of.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace canopy::report {
namespace {

std::string tokens(std::uint64_t count) {
  return count < 100'000 ? plural(count, "token") : brief(static_cast<double>(count)) + " tokens";
}

/// "12.3 % more than lru", "the same as lru".
std::string beside(std::uint64_t ours, std::uint64_t theirs, const std::string& name) {
  if (ours == theirs) return "the same as " + name;
  if (theirs == 0) return fmt::format("where {} reuses none", name);
  const double share = std::abs(static_cast<double>(ours) / static_cast<double>(theirs) - 1);
  return fmt::format("{} {} than {}", percent(share), ours > theirs ? "more" : "less", name);
}

/// Capacities from the smallest.
std::vector<std::size_t> by_size(const lab::Comparison& comparison) {
  std::vector<std::size_t> order(comparison.capacities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::uint64_t ours = comparison.capacities[a], theirs = comparison.capacities[b];
    return ours != theirs ? ours < theirs : a < b;
  });
  return order;
}

/// Where a policy would have that many hits, between the capacities it was run at: hits are taken as straight over the
/// logarithm of the capacity.
std::optional<double> capacity_for(const lab::Comparison& comparison, const std::string& policy, std::uint64_t hits) {
  const lab::Row* before = nullptr;
  for (const std::size_t i : by_size(comparison)) {
    const lab::Row* row = row_of(comparison, policy, comparison.capacities[i]);
    if (!row || !row->capacity_tokens) continue;
    if (before && before->hit_tokens < hits && row->hit_tokens >= hits) {
      const double share =
          static_cast<double>(hits - before->hit_tokens) / static_cast<double>(row->hit_tokens - before->hit_tokens);
      const double from = std::log(static_cast<double>(*before->capacity_tokens));
      return std::exp(from + share * (std::log(static_cast<double>(*row->capacity_tokens)) - from));
    }
    before = row;
  }
  return {};
}

void say_best(const lab::Comparison& comparison, std::size_t capacity, std::vector<std::string>& out) {
  const std::string baseline = baseline_of(comparison);
  const lab::Row *best = best_of(comparison, capacity),
                 *base = row_of(comparison, baseline, comparison.capacities[capacity]);
  if (!best || !base) return;
  std::string text = fmt::format("At {}, {} reuses most: {}, {} of the prompts", capacity_words(comparison, capacity),
                                 best->policy, tokens(best->hit_tokens), percent(best->hit_rate));
  if (best != base) text += ", " + beside(best->hit_tokens, base->hit_tokens, baseline);
  if (best->optimum_share) text += fmt::format("; that is {} of the optimum", percent(*best->optimum_share));
  out.push_back(text + ".");
}

void say_baseline(const lab::Comparison& comparison, std::vector<std::string>& out) {
  const std::string baseline = baseline_of(comparison);
  for (const Contender& contender : contenders_of(comparison)) {
    if (contender.kind != Contender::Kind::policy || contender.name == baseline) continue;
    std::size_t ahead = 0, behind = 0;
    double worst = 0;
    std::size_t worst_at = 0;
    for (std::size_t i = 0; i < comparison.capacities.size(); ++i) {
      const lab::Row *row = row_of(comparison, contender.name, comparison.capacities[i]),
                     *base = row_of(comparison, baseline, comparison.capacities[i]);
      if (!row || !base) continue;
      ahead += row->hit_tokens > base->hit_tokens;
      behind += row->hit_tokens < base->hit_tokens;
      if (base->hit_tokens == 0) continue;
      const double loss = 1 - static_cast<double>(row->hit_tokens) / static_cast<double>(base->hit_tokens);
      if (loss > worst) worst = loss, worst_at = i;
    }
    const std::size_t all = comparison.capacities.size();
    const char* const noun = all == 1 ? "capacity" : "capacities";
    if (behind == 0 && ahead == 0)
      out.push_back(fmt::format("{} reuses exactly what {} does.", contender.name, baseline));
    else if (behind == 0)
      out.push_back(
          fmt::format("{} is never behind {}, and ahead at {} of {} {}.", contender.name, baseline, ahead, all, noun));
    else
      out.push_back(fmt::format("{} is behind {} at {} of {} {}, by {} at worst ({}).", contender.name, baseline,
                                behind, all, noun, percent(worst), capacity_words(comparison, worst_at)));
  }
}

/// How much memory a better policy stands for.
void say_equivalent(const lab::Comparison& comparison, std::size_t capacity, std::vector<std::string>& out) {
  const std::string baseline = baseline_of(comparison);
  const lab::Row* best = best_of(comparison, capacity);
  if (!best || best->policy == baseline) return;
  const auto needed = capacity_for(comparison, baseline, best->hit_tokens);
  if (!needed || *needed <= static_cast<double>(comparison.capacities[capacity])) return;
  out.push_back(
      fmt::format("{} needs about {} tokens, {:.1f} times as many, for what {} reuses at {} (between the "
                  "capacities that were run, by interpolation).",
                  baseline, brief(*needed), *needed / static_cast<double>(comparison.capacities[capacity]),
                  best->policy, capacity_words(comparison, capacity)));
}

void say_memory(const lab::Comparison& comparison, std::vector<std::string>& out) {
  const std::string baseline = baseline_of(comparison);
  const auto order = by_size(comparison);
  if (order.size() < 2 || baseline.empty()) return;
  const lab::Row *less = row_of(comparison, baseline, comparison.capacities[order[order.size() - 2]]),
                 *more = row_of(comparison, baseline, comparison.capacities[order.back()]);
  if (!less || !more) return;
  const double points = (more->hit_rate - less->hit_rate) * 100;
  std::string text = fmt::format("The last step of memory, from {} to {}, brings {} {:.1f} points of hit rate",
                                 capacity_name(comparison, order[order.size() - 2]),
                                 capacity_words(comparison, order.back()), baseline, points);
  if (comparison.infinite_tokens > 0)
    text += fmt::format("; {} of what any cache could reuse is then reused",
                        percent(more->hit_tokens, comparison.infinite_tokens));
  out.push_back(text + ".");
}

const lab::RegretBin* largest(const std::vector<lab::RegretBin>& bins) {
  const auto at =
      std::max_element(bins.begin(), bins.end(), [](const auto& a, const auto& b) { return a.tokens < b.tokens; });
  return at == bins.end() || at->tokens == 0 ? nullptr : &*at;
}

void say_regret(const lab::Comparison& comparison, std::size_t capacity, std::vector<std::string>& out) {
  const lab::Row* row = row_of(comparison, baseline_of(comparison), comparison.capacities[capacity]);
  if (!row || row->regret.tokens == 0) return;
  std::string text =
      fmt::format("At {}, {} tokens that {} had evicted were asked for again", capacity_words(comparison, capacity),
                  brief(static_cast<double>(row->regret.tokens)), row->policy);
  const lab::RegretBin *age = largest(row->regret.by_age), *turn = largest(row->regret.by_turn);
  if (age)
    text += fmt::format(", {} of them {} after their last use", percent(age->tokens, row->regret.tokens), age->name);
  if (turn) text += fmt::format("; {} by {}", percent(turn->tokens, row->regret.tokens), turn->name);
  out.push_back(text + ".");
}

}  // namespace

std::vector<std::string> reading_of(const lab::Comparison& comparison) {
  std::vector<std::string> out;
  std::string first = fmt::format("{} with {} of prompts", plural(comparison.requests - comparison.warm_up, "request"),
                                  tokens(comparison.prompt_tokens));
  if (comparison.trace_ms > 0)
    first += fmt::format(" in {}", duration(static_cast<double>(comparison.trace_ms) / 1000));
  if (comparison.infinite_tokens > 0)
    first += fmt::format("; a cache without a limit would reuse {} of them, and none can reuse more",
                         percent(comparison.infinite_tokens, comparison.prompt_tokens));
  out.push_back(first + ".");
  if (comparison.capacities.empty() || baseline_of(comparison).empty()) return out;
  const auto order = by_size(comparison);
  const std::size_t telling = telling_capacity(comparison);
  constexpr std::size_t kFew = 4;
  std::vector<std::size_t> told{order.front(), telling, order.back()};
  if (order.size() <= kFew) told = order;
  for (std::size_t i = 0; i < told.size(); ++i)
    if (std::find(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(i), told[i]) ==
        told.begin() + static_cast<std::ptrdiff_t>(i))
      say_best(comparison, told[i], out);
  say_equivalent(comparison, telling, out);
  say_baseline(comparison, out);
  say_memory(comparison, out);
  say_regret(comparison, telling, out);
  return out;
}

std::vector<std::string> warnings_of(const lab::Comparison& comparison) {
  std::vector<std::string> out;
  if (comparison.incomplete) out.emplace_back("The comparison was stopped: rows are missing.");
  if (comparison.violations > 0)
    out.push_back(fmt::format("{} of a rule that must hold: do not believe these figures.",
                              plural(comparison.violations, "violation")));
  for (const std::string& report : comparison.reports) out.push_back(report);
  for (const lab::Row& row : comparison.rows)
    if (row.rejected > 0 && row.capacity_tokens)
      out.push_back(fmt::format("{} at {} tokens: {} did not fit and hit nothing.", row.policy,
                                grouped(*row.capacity_tokens), plural(row.rejected, "request")));
  for (const std::string& note : comparison.notes) out.push_back(note);
  return out;
}

}  // namespace canopy::report
