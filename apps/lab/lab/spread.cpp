#include "spread.h"

#include <canopy/base/figures.h>
#include <canopy/base/random.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "breakdown.h"

namespace canopy::lab {
namespace {

constexpr std::size_t kDraws = 2000;
/// Fewest requests of a stretch: with fewer, a stretch is a few sessions and not a sample of the traffic.
constexpr std::uint64_t kLeastRequests = 10;

/// Returns the row of the first policy at a row's capacity; null if that is the row, there is none, or it has no hit.
const Row* base_of(const Comparison& comparison, const Row& row) {
  const std::string& first = comparison.policies.front();
  if (row.policy == first || !row.capacity_tokens) return nullptr;
  for (const Row& base : comparison.rows)
    if (base.policy == first && (!base.capacity_tokens || base.capacity_tokens == row.capacity_tokens))
      return base.hit_tokens > 0 ? &base : nullptr;
  return nullptr;
}

double gain_of(double hits, double base) { return base > 0 ? hits / base - 1 : 0; }

void add_slices(std::vector<Slice>& to, const std::vector<Slice>& from) {
  for (const Slice& slice : from) {
    const auto same = [&](const Slice& other) { return other.kind == slice.kind && other.name == slice.name; };
    auto at = std::ranges::find_if(to, same);
    if (at == to.end()) {  // a class that no earlier seed has; its kind stays together
      const auto last =
          std::find_if(to.rbegin(), to.rend(), [&](const Slice& other) { return other.kind == slice.kind; });
      at = to.insert(last.base(), {slice.kind, slice.name, 0, 0, 0, 0});
    }
    at->requests += slice.requests;
    at->prompt_tokens += slice.prompt_tokens;
    at->hit_tokens += slice.hit_tokens;
    at->seen_tokens += slice.seen_tokens;
  }
}

void add_bins(std::vector<RegretBin>& to, const std::vector<RegretBin>& from) {
  if (to.empty()) to = from;
  else
    for (std::size_t i = 0; i < from.size(); ++i) to[i].tokens += from[i].tokens;
}

SeedRun run_of(const Row& row) { return {row.seed, row.hit_tokens, row.hit_rate, row.digest}; }

/// Adds a row of another seed. Rates become sums, which divide() turns into means.
void add_row(Row& to, const Row& from) {
  to.by_seed.push_back(run_of(from));
  to.hit_tokens += from.hit_tokens;
  to.hit_rate += from.hit_rate;
  to.flop_hit_rate += from.flop_hit_rate;
  to.rejected += from.rejected;
  to.digest = splitmix64(to.digest ^ from.digest);
  const auto add = [](auto& sum, const auto& more) {
    if (sum) *sum += more.value_or(0);
  };
  add(to.optimum_share, from.optimum_share);
  add(to.evicted_tokens, from.evicted_tokens);
  add(to.index_seconds, from.index_seconds);
  add(to.prefill_seconds, from.prefill_seconds);
  add(to.p50_ttft_ms, from.p50_ttft_ms);
  add(to.p95_ttft_ms, from.p95_ttft_ms);
  add(to.answered, from.answered);
  if (!from.p50_ttft_ms) to.p50_ttft_ms.reset(), to.p95_ttft_ms.reset();
  add_slices(to.slices, from.slices);
  if (!from.fairness) to.fairness.reset();
  if (to.fairness) {
    to.fairness->jain += from.fairness->jain;
    to.fairness->mean_hit_rate += from.fairness->mean_hit_rate;
  }
  if (!from.regret) to.regret.reset();
  if (!to.regret) return;
  to.regret->tokens += from.regret->tokens;
  add_bins(to.regret->by_age, from.regret->by_age);
  add_bins(to.regret->by_depth, from.regret->by_depth);
  add_bins(to.regret->by_turn, from.regret->by_turn);
}

void divide(Row& row) {
  const auto seeds = static_cast<double>(row.by_seed.size());
  row.hit_rate /= seeds;
  row.flop_hit_rate /= seeds;
  for (std::optional<double>* mean : {&row.optimum_share, &row.p50_ttft_ms, &row.p95_ttft_ms})
    if (*mean) **mean /= seeds;
  if (!row.fairness) return;
  const double jain = row.fairness->jain / seeds, mean = row.fairness->mean_hit_rate / seeds;
  row.fairness = fairness_of(row.slices);  // the worst tenant of all tokens
  row.fairness->jain = jain;
  row.fairness->mean_hit_rate = mean;
}

/// Fills the intervals of rows that have several seeds.
void add_intervals_of_seeds(Comparison& comparison) {
  for (Row& row : comparison.rows) {
    std::vector<double> rates, gains;
    for (const SeedRun& run : row.by_seed) rates.push_back(run.hit_rate);
    row.spread = mean_of(rates);
    row.gain.reset();  // that of the first seed's stretches
    const Row* const base = base_of(comparison, row);
    if (base == nullptr || std::ranges::any_of(base->by_seed, [](const SeedRun& run) { return run.hit_tokens == 0; }))
      continue;
    for (std::size_t i = 0; i < row.by_seed.size(); ++i)
      gains.push_back(
          gain_of(static_cast<double>(row.by_seed[i].hit_tokens), static_cast<double>(base->by_seed[i].hit_tokens)));
    row.gain = mean_of(gains);
  }
}

}  // namespace

Interval mean_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  // Not in long double: valgrind, which counts instructions, has none, and a constant of Boost's then overflows.
  using Narrow = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  const boost::math::students_t_distribution<double, Narrow> student(count - 1);
  const double within = boost::math::quantile(student, 0.975) * std::sqrt(squares / (count - 1) / count);
  return {mean, mean - within, mean + within};
}

Interval bootstrap(std::size_t stretches, const std::function<double(std::span<const std::uint32_t>)>& figure) {
  std::vector<std::uint32_t> times(stretches, 1);
  Interval interval{figure(times), 0, 0};
  Random random(1);
  std::vector<double> drawn;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    std::ranges::fill(times, 0);
    for (std::size_t i = 0; i < stretches; ++i) ++times[random.below(static_cast<std::uint32_t>(stretches))];
    drawn.push_back(figure(times));
  }
  std::ranges::sort(drawn);
  interval.low = drawn[kDraws / 40];
  interval.high = drawn[kDraws - 1 - kDraws / 40];
  return interval;
}

void add_intervals(Comparison& comparison) {
  if (comparison.requests - comparison.warm_up < kStretches * kLeastRequests) return;
  for (Row& row : comparison.rows) {
    const Row* const base = base_of(comparison, row);
    if (base == nullptr) continue;
    bool always = true;  // the first policy has hits in each draw, so that there is a gain over it
    const Interval gain = bootstrap(kStretches, [&](std::span<const std::uint32_t> times) {
      double ours = 0, theirs = 0;
      for (std::size_t i = 0; i < times.size(); ++i) {
        ours += static_cast<double>(times[i] * row.stretch_tokens[i]);
        theirs += static_cast<double>(times[i] * base->stretch_tokens[i]);
      }
      always &= theirs > 0;
      return gain_of(ours, theirs);
    });
    if (!always) continue;
    row.gain = gain;
    comparison.intervals = fmt::format("95 % by a block bootstrap of {} stretches of {} requests", kStretches,
                                       grouped((comparison.requests - comparison.warm_up) / kStretches));
  }
}

Comparison merged(std::vector<Comparison> all) {
  Comparison sum = std::move(all.front());
  for (Row& row : sum.rows) row.by_seed.push_back(run_of(row));
  for (std::size_t i = 1; i < all.size(); ++i) {
    Comparison& other = all[i];
    sum.requests += other.requests;
    sum.warm_up += other.warm_up;
    sum.prompt_tokens += other.prompt_tokens;
    if (sum.infinite_tokens) *sum.infinite_tokens += other.infinite_tokens.value_or(0);
    if (sum.distinct_tokens) *sum.distinct_tokens += other.distinct_tokens.value_or(0);
    sum.trace_ms += other.trace_ms;
    sum.counted_ms += other.counted_ms;
    sum.checks += other.checks;
    sum.violations += other.violations;
    sum.largest_request = std::max(sum.largest_request, other.largest_request);
    sum.reports.insert(sum.reports.end(), other.reports.begin(), other.reports.end());
    add_doubts(sum.doubts, other.doubts);
    for (std::string& note : other.notes)
      if (std::ranges::find(sum.notes, note) == sum.notes.end()) sum.notes.push_back(std::move(note));
    sum.trace_hash = splitmix64(sum.trace_hash ^ other.trace_hash);
    sum.seeds.insert(sum.seeds.end(), other.seeds.begin(), other.seeds.end());
    add_slices(sum.slices, other.slices);
    for (std::size_t at = 0; at < sum.lru_curve.size(); ++at)
      sum.lru_curve[at].hit_rate += other.lru_curve[at].hit_rate;
    for (std::size_t at = 0; at < sum.rows.size(); ++at) add_row(sum.rows[at], other.rows[at]);
  }
  for (ExactPoint& point : sum.lru_curve) point.hit_rate /= static_cast<double>(all.size());
  for (Row& row : sum.rows) divide(row);
  add_intervals_of_seeds(sum);
  sum.intervals = fmt::format("95 % t interval of the mean of {}", plural(all.size(), "seed"));
  return sum;
}

}  // namespace canopy::lab
