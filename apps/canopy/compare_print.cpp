#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <lab/compare.h>
#include "lab_commands.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using lab::Comparison;
using lab::Row;

bool is_policy(const Row& row) { return lab::kind_of(row.policy) == lab::Kind::engine; }

const Row* find(const Comparison& comparison, const std::string& policy, std::uint64_t capacity) {
  for (const Row& row : comparison.rows)
    if (row.policy == policy && (!row.capacity_tokens || *row.capacity_tokens == capacity)) return &row;
  return nullptr;
}

/// Returns the policy that reuses most at a capacity; null if there are fewer than two policies.
const Row* best_at(const Comparison& comparison, std::uint64_t capacity) {
  const Row* best = nullptr;
  std::size_t policies = 0;
  for (const Row& row : comparison.rows) {
    if (!is_policy(row) || row.capacity_tokens != capacity) continue;
    ++policies;
    if (!best || row.hit_tokens > best->hit_tokens) best = &row;
  }
  return policies > 1 ? best : nullptr;
}

/// Returns a capacity with its name, if that was not a number of tokens.
std::string name_of(const Comparison& comparison, std::size_t i) {
  const std::string tokens = grouped(comparison.capacities[i]), &given = comparison.capacity_names[i];
  return comparison.bytes_per_token || given.ends_with('%') ? given + ", " + tokens : tokens;
}

/// Prints a row for each capacity and a column for each policy. The policy that reuses most is green. `comparable`:
/// false for a capacity whose figures are of different requests, so that no policy is the best.
void print_grid(const Comparison& comparison, const char* title, const Terminal& terminal,
                const std::function<std::string(const Row&)>& cell_of,
                const std::function<bool(std::uint64_t)>& comparable = {}) {
  std::vector<std::string> heading{title};
  for (const std::string& policy : comparison.policies) heading.push_back(policy);
  heading.emplace_back();  // figures are right-aligned in all columns but the first and the last
  Grid grid(std::move(heading));
  for (std::size_t i = 0; i < comparison.capacities.size(); ++i) {
    const std::uint64_t capacity = comparison.capacities[i];
    const Row* const best = !comparable || comparable(capacity) ? best_at(comparison, capacity) : nullptr;
    std::vector<Grid::Cell> cells{{name_of(comparison, i)}};
    for (const std::string& policy : comparison.policies) {
      const Row* const row = find(comparison, policy, capacity);
      cells.push_back({row ? cell_of(*row) : "-", row && row == best ? "32" : nullptr});
    }
    cells.push_back({});
    grid.row(std::move(cells));
  }
  grid.print(terminal);
  fmt::print("\n");
}

/// Returns a gain in per cent with its sign: with one digit, or two where one would hide that it is not 0.
std::string signed_percent(double share) {
  const double percent = 100 * share;
  return percent != 0 && percent > -0.1 && percent < 0.1 ? fmt::format("{:+.2f}", percent)
                                                         : fmt::format("{:+.1f}", percent);
}

/// Returns Jain's index with three digits; what is less than 1 is not shown as 1.
std::string jain_words(double jain) {
  constexpr double kRounding = 1e-9;
  return jain >= 0.9995 && jain < 1 - kRounding ? "> 0.999" : fmt::format("{:.3f}", jain);
}

/// Returns "of all 3 seeds" behind a comma where a figure is a sum over seeds; empty with one.
std::string of_seeds(const Comparison& comparison) {
  const std::size_t seeds = comparison.seeds.size();
  return seeds > 1 ? fmt::format(", of all {} seeds", seeds) : std::string();
}

/// Prints how much more each policy reuses than the first one, and the origin of the intervals.
void print_gains(const Comparison& comparison, const Terminal& terminal) {
  const std::string title = "more than " + printable(comparison.policies.front());
  if (std::ranges::any_of(comparison.rows, [](const Row& row) { return row.gain.has_value(); }))
    print_grid(comparison, title.c_str(), terminal, [](const Row& row) {
      return row.gain ? fmt::format("{} % [{}, {}]", signed_percent(row.gain->mean), signed_percent(row.gain->low),
                                    signed_percent(row.gain->high))
                      : std::string("-");
    });
  fmt::print("{}\n\n", terminal.dim("  intervals: " + comparison.intervals));
}

/// Prints the times to the first token, and of how many requests they are where not all had one.
void print_first_tokens(const Comparison& comparison, const Terminal& terminal) {
  const auto cell_of = [&](const Row& row) {
    if (!row.p50_ttft_ms || !row.p95_ttft_ms) return std::string("-");
    std::string cell = fmt::format("{} / {}", seconds(*row.p50_ttft_ms / 1000), seconds(*row.p95_ttft_ms / 1000));
    if (const std::uint64_t answered = row.answered.value_or(0); answered != comparison.requests)
      cell += fmt::format(" of {} of {}", grouped(answered), plural(comparison.requests, "request"));
    return cell;
  };
  const auto comparable = [&](std::uint64_t capacity) {
    const Row* first = nullptr;
    for (const Row& row : comparison.rows) {
      if (row.capacity_tokens != capacity) continue;
      if (first && first->answered != row.answered) return false;
      first = &row;
    }
    return true;
  };
  print_grid(comparison, comparison.seeds.size() > 1 ? "first token, means of p50 / p95" : "first token, p50 / p95",
             terminal, cell_of, comparable);
}

/// A row below the slices of a capacity: its name, and the cell of a policy's row.
using RowUnder = std::pair<const char*, std::function<std::string(const Row&)>>;

/// Prints a row for each slice of a kind and a column for each policy, for each capacity. `most`: only so many, those
/// with the most prompt tokens. `under`: rows below those of a capacity.
void print_slices(const Comparison& comparison, const std::string& title, const std::string& kind, std::size_t most,
                  const std::function<std::string(const Row&, const lab::Slice&)>& cell_of,
                  const std::vector<RowUnder>& under, const Terminal& terminal) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < comparison.slices.size(); ++i)
    if (comparison.slices[i].kind == kind) chosen.push_back(i);
  const std::size_t left = chosen.size() - std::min(chosen.size(), most);
  if (left > 0) {
    const auto tokens = [&](std::size_t i) { return comparison.slices[i].prompt_tokens; };
    std::sort(chosen.begin(), chosen.end(),
              [&](std::size_t a, std::size_t b) { return tokens(a) != tokens(b) ? tokens(a) > tokens(b) : a < b; });
    chosen.resize(most);
  }
  std::vector<std::string> heading{title, "requests", "prompt tokens"};
  for (const std::string& policy : comparison.policies) heading.push_back(policy);
  heading.emplace_back();
  Grid grid(std::move(heading));
  for (const std::uint64_t capacity : comparison.capacities) {
    grid.section(fmt::format("{} tokens", grouped(capacity)));
    for (const std::size_t i : chosen) {
      const lab::Slice& slice = comparison.slices[i];
      std::vector<Grid::Cell> cells{{slice.name}, {grouped(slice.requests)}, {grouped(slice.prompt_tokens)}};
      for (const std::string& policy : comparison.policies) {
        const Row* const row = find(comparison, policy, capacity);
        cells.push_back({row ? cell_of(*row, row->slices[i]) : "-"});
      }
      cells.push_back({});
      grid.row(std::move(cells));
    }
    for (const auto& [name, cell] : under) {
      std::vector<Grid::Cell> cells{{name, "2"}, {}, {}};
      for (const std::string& policy : comparison.policies) {
        const Row* const row = find(comparison, policy, capacity);
        cells.push_back({row ? cell(*row) : "-", "2"});
      }
      cells.push_back({});
      grid.row(std::move(cells));
    }
  }
  grid.print(terminal);
  if (left > 0) fmt::print("{}\n", terminal.dim(fmt::format("  and {} more, with fewer tokens", grouped(left))));
  fmt::print("\n");
}

/// Prints hit rates and regrets by tenant, the worst tenant and Jain's index.
void print_tenants(const Comparison& comparison, const Terminal& terminal) {
  constexpr std::size_t kMost = 16;
  const auto if_known = [](const Row& row, auto&& words) {
    return row.fairness ? words(*row.fairness) : std::string("-");
  };
  print_slices(
      comparison, "hit rate by tenant", "namespace", kMost,
      [](const Row&, const lab::Slice& slice) { return percent(slice.hit_rate()); },
      {{"mean of all tenants",
        [&](const Row& row) { return if_known(row, [](const auto& fair) { return percent(fair.mean_hit_rate); }); }},
       {"worst tenant", [&](const Row& row) { return if_known(row, [](const auto& fair) { return fair.worst; }); }},
       {"its hit rate",
        [&](const Row& row) { return if_known(row, [](const auto& fair) { return percent(fair.worst_hit_rate); }); }},
       {"Jain's index",
        [&](const Row& row) { return if_known(row, [](const auto& fair) { return jain_words(fair.jain); }); }}},
      terminal);
  if (std::ranges::any_of(comparison.rows, [](const Row& row) { return row.regret.has_value(); }))
    print_slices(
        comparison, "regretted tokens by tenant", "namespace", kMost,
        [](const Row& row, const lab::Slice& slice) {
          return row.regret ? grouped(slice.regret_tokens()) : std::string("-");
        },
        {}, terminal);
}

/// Prints the conclusions from the figures, a sentence for each capacity.
void print_sentences(const Comparison& comparison) {
  for (const std::uint64_t capacity : comparison.capacities) {
    const Row* const best = best_at(comparison, capacity);
    if (!best) continue;
    if (best->hit_tokens == 0) {
      fmt::print("At {} tokens no policy reuses anything.\n", grouped(capacity));
      continue;
    }
    std::string sentence = fmt::format("At {} tokens {} reuses most, {} of the prompts", grouped(capacity),
                                       printable(best->policy), percent(best->hit_rate));
    if (best->optimum_share) sentence += fmt::format(" and {} of what is possible", percent(*best->optimum_share));
    if (const Row* const lru = find(comparison, "lru", capacity); lru && lru != best && lru->hit_tokens > 0) {
      const double more = best->gain && comparison.policies.front() == "lru"
                              ? best->gain->mean  // not the ratio of the sums where there are several seeds
                              : static_cast<double>(best->hit_tokens) / static_cast<double>(lru->hit_tokens) - 1;
      sentence +=
          best->hit_tokens == lru->hit_tokens ? ", as much as lru" : fmt::format(": {} more than lru", percent(more));
      if (best->gain && best->gain->low <= 0 && comparison.policies.front() == "lru" &&
          best->hit_tokens > lru->hit_tokens)
        sentence += ", which may be chance";
    }
    if (best->rejected > 0) sentence += fmt::format("; {} did not fit", plural(best->rejected, "request"));
    else if (best->regret && best->regret->tokens > 0)
      sentence += fmt::format("; {} tokens that it had evicted were requested again{}", grouped(best->regret->tokens),
                              of_seeds(comparison));
    fmt::print("{}.\n", sentence);
  }
}

}  // namespace

void print(const Comparison& comparison, const std::vector<std::string>& by, const Terminal& terminal) {
  fmt::print(
      "{}  {}\n", terminal.bold(comparison.config),
      terminal.dim(fmt::format(
          "on {}{}, {} {}, {}{}", comparison.source,
          comparison.seeds.size() > 1 ? fmt::format(" with {}", plural(comparison.seeds.size(), "seed"))
                                      : std::string(),
          comparison.blocks ? "blocks of" : "page", comparison.page_size, plural(comparison.requests, "request"),
          comparison.warm_up ? fmt::format(", {} of them to warm up", grouped(comparison.warm_up)) : std::string())));
  fmt::print("\n");
  const bool rejects = std::ranges::any_of(comparison.rows, [](const Row& row) { return row.rejected > 0; });
  print_grid(comparison, rejects ? "hit rate of all prompts" : "hit rate", terminal, [](const Row& row) {
    return percent(row.hit_rate) +
           (row.spread ? fmt::format(" +-{:.2f}", 100 * (row.spread->high - row.spread->mean)) : std::string()) +
           (row.rejected > 0 ? fmt::format(", {} rejected", grouped(row.rejected)) : std::string());
  });
  if (!comparison.intervals.empty()) print_gains(comparison, terminal);
  const auto has_share = [](const Row& row) { return row.optimum_share && is_policy(row); };
  if (std::any_of(comparison.rows.begin(), comparison.rows.end(), has_share))
    print_grid(comparison, "of the optimum", terminal,
               [](const Row& row) { return row.optimum_share ? percent(*row.optimum_share) : std::string("-"); });
  const auto any_has = [&](auto figure) {
    return std::any_of(comparison.rows.begin(), comparison.rows.end(),
                       [&](const Row& row) { return (row.*figure).has_value(); });
  };
  if (any_has(&Row::prefill_seconds))
    print_grid(comparison, ("GPU time of prefill" + of_seeds(comparison)).c_str(), terminal,
               [](const Row& row) { return row.prefill_seconds ? duration(*row.prefill_seconds) : std::string("-"); });
  if (comparison.timed) print_first_tokens(comparison, terminal);
  for (const std::string& kind : by) {
    if (kind == "flops")
      print_grid(comparison, "hit rate by FLOPs", terminal, [](const Row& row) { return percent(row.flop_hit_rate); });
    else if (kind == "tenant") print_tenants(comparison, terminal);
    else {
      const std::string name = kind == "new-tokens" ? "new tokens" : kind;
      print_slices(
          comparison, "hit rate by " + name, name, comparison.slices.size(),
          [](const Row&, const lab::Slice& slice) { return percent(slice.hit_rate()); }, {}, terminal);
    }
  }
  Table table;
  table.row("prompts", plural(comparison.prompt_tokens, "token") + of_seeds(comparison));
  if (comparison.infinite_tokens && comparison.distinct_tokens)
    table.row("without a limit",
              fmt::format("{} reused, {}; {} distinct{}", plural(*comparison.infinite_tokens, "token"),
                          percent(*comparison.infinite_tokens, comparison.prompt_tokens),
                          plural(*comparison.distinct_tokens, "token"), of_seeds(comparison)));
  table.row("took", fmt::format("{}, {} at once", duration(comparison.seconds), plural(comparison.jobs, "run")));
  table.print(terminal);
  fmt::print("\n");
  print_sentences(comparison);
  if (std::any_of(comparison.capacities.begin(), comparison.capacities.end(),
                  [&](std::uint64_t capacity) { return capacity < comparison.largest_request; }))
    fmt::print("{} the largest request has {}: smaller pools reject it, while optimum and lru_trimmed keep what fits\n",
               terminal.yellow("note:"), plural(comparison.largest_request, "token"));
  if (comparison.incomplete)
    fmt::print("{} it was stopped: rows that had not ended are missing\n", terminal.yellow("incomplete:"));
  print_notes(comparison.notes, terminal);
  print_doubts(comparison.doubts, stdout, terminal);
  for (const std::string& sentence : comparison.reports)
    fmt::print("{} {}\n", terminal.red("violation:"), printable(sentence));
  const std::string verdict =
      fmt::format("{} checks, {}", grouped(comparison.checks), plural(comparison.violations, "violation"));
  if (comparison.checks > 0)
    fmt::print("{}\n", comparison.violations > 0 || !comparison.doubts.empty() ? terminal.red(verdict)
                                                                               : terminal.green(verdict));
}

}  // namespace canopy::app
