#include "trace_print.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>

#include "listing_print.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using workload::Bar;
using workload::TraceFacts;

constexpr std::size_t kWidth = 32;    ///< Width of the longest bar, in characters.
constexpr std::size_t kTenants = 12;  ///< Namespaces listed by name.

std::string bar_of(double share, const Terminal& terminal) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kWidth * 8));
  std::string text;
  if (!terminal.unicode) {
    text.assign((eighths + 4) / 8, '#');
    return text + std::string(kWidth - text.size(), ' ');
  }
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  return text + std::string(kWidth - (eighths + 7) / 8, ' ');
}

/// A histogram: the names of its bars, their lengths (0..1), and the figures behind them.
struct Shape {
  std::string title;
  std::function<std::string(std::uint64_t)> edge;
  std::function<double(const Bar&)> share;
  std::function<std::string(const Bar&)> figure;
  bool counts = false;     ///< edges are counts: "2", "3 to 4"
  bool of_longest = true;  ///< true: the longest bar has full length; false: 100 % has
};

std::string name_of(const Bar& bar, const Shape& shape) {
  if (bar.to == 0) return shape.edge(bar.from) + " or more";
  if (shape.counts)
    return bar.to == bar.from + 1 ? shape.edge(bar.from) : shape.edge(bar.from) + " to " + shape.edge(bar.to - 1);
  if (bar.from == 0) return "below " + shape.edge(bar.to);
  return shape.edge(bar.from) + " to " + shape.edge(bar.to);
}

void print(const std::vector<Bar>& bars, const Shape& shape, const Terminal& terminal) {
  const auto empty = [](const Bar& bar) { return bar.count == 0 && bar.tokens == 0; };
  const auto first = std::find_if_not(bars.begin(), bars.end(), empty);
  const auto last = std::find_if_not(bars.rbegin(), bars.rend(), empty).base();
  if (first >= last) return;
  double longest = 0;
  std::size_t widest = 0;
  for (auto bar = first; bar != last; ++bar) {
    longest = std::max(longest, shape.share(*bar));
    widest = std::max(widest, name_of(*bar, shape).size());
  }
  const double full = shape.of_longest && longest > 0 ? longest : 1;
  fmt::print("\n{}\n", terminal.bold(shape.title));
  for (auto bar = first; bar != last; ++bar)
    fmt::print("  {}  {} {}\n", terminal.dim(fmt::format("{:>{}}", name_of(*bar, shape), widest)),
               terminal.green(bar_of(shape.share(*bar) / full, terminal)), shape.figure(*bar));
}

std::string tokens_edge(std::uint64_t tokens) {
  return tokens < 10'000 ? grouped(tokens) : brief(static_cast<double>(tokens));
}
/// Returns an edge in whole seconds, minutes or hours.
std::string time_edge(std::uint64_t ms) {
  if (ms < 60'000) return fmt::format("{} s", ms / 1000);
  return ms < 3'600'000 ? fmt::format("{} min", ms / 60'000) : fmt::format("{} h", ms / 3'600'000);
}

double part(std::uint64_t of, std::uint64_t whole) {
  return whole ? static_cast<double>(of) / static_cast<double>(whole) : 0;
}

/// Returns a histogram of tokens, as shares of `whole`.
Shape of_tokens(std::string title, std::function<std::string(std::uint64_t)> edge, std::uint64_t whole) {
  return {std::move(title), std::move(edge), [whole](const Bar& bar) { return part(bar.tokens, whole); },
          [whole](const Bar& bar) {
            return fmt::format("{:>7}  {}", percent(bar.tokens, whole), brief(static_cast<double>(bar.tokens)));
          }};
}

Shape of_requests(std::string title, std::function<std::string(std::uint64_t)> edge, std::uint64_t whole) {
  return {std::move(title), std::move(edge), [whole](const Bar& bar) { return part(bar.count, whole); },
          [whole](const Bar& bar) {
            return fmt::format("{:>7}  {}", percent(bar.count, whole), plural(bar.count, "request"));
          }};
}

void print_tenants(const TraceFacts& facts, const Terminal& terminal) {
  if (facts.tenants.size() < 2) return;
  std::vector<workload::TenantFacts> all(facts.tenants.begin(), facts.tenants.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    const std::uint64_t ours = a.second.prompt_tokens, theirs = b.second.prompt_tokens;
    return ours != theirs ? ours > theirs : a.first < b.first;
  });
  fmt::print("\n{}\n", terminal.bold(plural(all.size(), "namespace")));
  print_list(workload::tenants_listing(facts), all | std::views::take(kTenants), terminal);
  if (all.size() > kTenants) fmt::print("  and {} more\n", grouped(all.size() - kTenants));
}

}  // namespace

void print_facts(const TraceFacts& facts, const std::string& trace, const Terminal& terminal) {
  const auto tokens = [](std::uint64_t count) { return plural(count, "token"); };
  fmt::print("{}\n", terminal.bold(trace));
  Table table;
  table.row("requests",
            fmt::format("{} in {}", grouped(facts.requests), duration(static_cast<double>(facts.span_ms) / 1000)));
  table.row("prompts", fmt::format("{}, {} on average, {} the longest", tokens(facts.prompt_tokens),
                                   grouped(facts.requests ? facts.prompt_tokens / facts.requests : 0),
                                   grouped(facts.longest_prompt)));
  table.row("answers", tokens(facts.output_tokens));
  table.row("distinct", fmt::format("{}: a cache of all prompts holds them", tokens(facts.distinct_tokens)));
  table.row("reused", fmt::format("{}, {} of the prompts: whole units that an earlier prompt had",
                                  tokens(facts.reused_tokens), terminal.bold(percent(facts.reused()))));
  for (const TraceFacts::Popular& popular : facts.popular)
    if (popular.distinct_share == 0.1)
      table.row("popularity",
                fmt::format("a tenth of the distinct tokens makes {} of the prompts", percent(popular.prompt_share)));
  table.row("working set", fmt::format("{} at most within {}", tokens(facts.working_most),
                                       duration(static_cast<double>(facts.working_window_ms) / 1000)));
  table.row("sent again",
            fmt::format("{} with nothing new in any whole unit", plural(facts.resent_requests, "request")));
  if (facts.retained_requests > 0)
    table.row("retention", fmt::format("{} wish to keep {} in all, {} at the longest",
                                       plural(facts.retained_requests, "request"), tokens(facts.retained_tokens),
                                       duration(static_cast<double>(facts.longest_retention_ms) / 1000)));
  table.row("unit",
            fmt::format("{}, compared at once; smaller pages, and answers in a later prompt, add to what is reused",
                        tokens(facts.unit)));
  table.print(terminal);

  const std::uint64_t reused = facts.reused_tokens;
  print(facts.gaps_ms, of_tokens("Reused tokens by the time since their last use", time_edge, reused), terminal);
  print(facts.gaps_tokens, of_tokens("Reused tokens by the new tokens that came in between", tokens_edge, reused),
        terminal);
  print(facts.depths,
        {"Share that is reused, by depth in the prompt", tokens_edge,
         [](const Bar& bar) { return part(bar.count, bar.tokens); },
         [](const Bar& bar) {
           return fmt::format("{:>7}  of {}", percent(bar.count, bar.tokens), brief(static_cast<double>(bar.tokens)));
         },
         false, false},
        terminal);
  Shape uses = of_tokens("Distinct tokens by the number of prompts that had them", grouped, facts.distinct_tokens);
  Shape turns =
      of_requests(facts.turns_given ? "Requests by turn"
                                    : "Requests by turn (not in the file: a prompt that begins with all of an "
                                      "earlier one is its next turn)",
                  grouped, facts.requests);
  uses.counts = turns.counts = true;
  print(facts.uses, uses, terminal);
  print(facts.lifetimes,
        of_tokens("Distinct tokens in several prompts, by the time from the first to the last of them", time_edge,
                  facts.distinct_tokens),
        terminal);
  print(facts.turns, turns, terminal);
  print(facts.prompts, of_requests("Requests by length of their prompt", tokens_edge, facts.requests), terminal);
  print_tenants(facts, terminal);
}

}  // namespace canopy::app
