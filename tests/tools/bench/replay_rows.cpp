/// A whole replay, one request after the other, with only the calls that an engine makes to its index.
#include <fmt/format.h>

#include <array>

#include "clock.h"
#include "index_replay.h"
#include "replay_source.h"

namespace canopy::bench {
namespace {

std::vector<std::string> names(Units page_size) {
  std::vector<std::string> all{fmt::format("replay: match + insert + evict + release, page {}", page_size)};
  all.push_back(fmt::format("replay: the four, memory taken as it is needed, page {}", page_size));
  for (const char* step : kStepNames) all.push_back(fmt::format("replay: {}, page {}", step, page_size));
  all.push_back(fmt::format("replay: memory, page {}", page_size));
  return all;
}

struct ReplayFigures {
  std::array<Repeated, kSteps> steps;
  Repeated four, later;  ///< later: memory is taken when it is needed
  std::uint64_t hits = 0;
  void add(const Replayed& replayed) {
    hits = replayed.hit_tokens;
    four.add(replayed.four());
    for (std::size_t step = 0; step < kSteps; ++step) steps[step].add(replayed.seconds[step]);
  }
};

/// Measures the index and the original's algorithm in turns.
Result<std::monostate> take_turns(const Setting& setting, Units page_size, ReplayFigures& ours,
                                  ReplayFigures& original) {
  const std::string& index = setting.options.index;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    const auto mine = replay_index(setting, index, page_size);
    if (!mine) return mine.error();
    ours.add(*mine);
    const auto later = replay_index(setting, index, page_size, "prefault: false");
    ours.later.add((later ? *later : *mine).four());
    if (repetition >= setting.original_repetitions) continue;
    const auto theirs = replay_index(setting, {}, page_size);
    if (!theirs) return theirs.error();
    original.add(*theirs);
  }
  return std::monostate{};
}

void add_times(const ReplayFigures& ours, const ReplayFigures& original, const std::string& section,
               const std::vector<std::string>& called, std::uint64_t requests, Report& report) {
  const double share = 1 / static_cast<double>(requests);
  std::size_t next = 0;
  const auto add = [&](const Repeated& mine, const Repeated& theirs, std::string note = {}) {
    report.rows.push_back({section, called[next++], Kind::time, "a request", mine.spread(share), std::nullopt,
                           theirs.if_any(share), std::move(note)});
  };
  add(ours.four, original.four, fmt::format("{:.1f} ms in all", ours.four.spread(1e3).median));
  add(ours.later, original.four, "prefault: false, if the index has this option");
  for (std::size_t step = 0; step < kSteps; ++step) add(ours.steps[step], original.steps[step]);
}

Row memory_row(const Replayed& replayed, Units page_size, const std::string& section, const std::string& name) {
  const auto bytes = static_cast<double>(replayed.use.bytes), tokens = static_cast<double>(replayed.resident_tokens);
  const double formula = tokens * 4 + tokens / page_size * 4 + static_cast<double>(replayed.use.nodes) * 160;
  const double used = formula > 0 ? bytes / formula : 0;
  return {section,
          name,
          Kind::share,
          "times the formula 4 B/token + 4 B/page + 160 B/node",
          {used, used, used},
          std::nullopt,
          std::nullopt,
          fmt::format("{:.1f} MiB for {} nodes", bytes / (1 << 20), replayed.use.nodes)};
}

Result<std::monostate> measure_replay(const Setting& setting, Units page_size, Report& report) {
  const std::string& index = setting.options.index;
  const auto warm_up = replay_index(setting, index, page_size);
  if (!warm_up) return warm_up.error();
  ReplayFigures ours, original;
  if (auto took = take_turns(setting, page_size, ours, original); !took) return took.error();

  const auto source = open_source(setting.options);
  if (!source) return source.error();
  report.source = source->name;
  report.remarks.push_back(fmt::format("replay, page {}: {} hit {} tokens and the original's algorithm {}, {}.",
                                       page_size, index, warm_up->hit_tokens, original.hits,
                                       warm_up->hit_tokens == original.hits ? "equal" : "NOT EQUAL"));
  const std::string section =
      fmt::format("Replay of {}: {} requests, {:.1f} M tokens, a pool of {:.1f} M", source->name, warm_up->requests,
                  static_cast<double>(warm_up->prompt_tokens) / 1e6, static_cast<double>(source->capacity) / 1e6);
  const std::vector<std::string> called = names(page_size);
  add_times(ours, original, section, called, warm_up->requests, report);
  report.rows.push_back(memory_row(*warm_up, page_size, section, called.back()));
  return std::monostate{};
}

}  // namespace

void add_replay_cases(const Options&, std::vector<Case>& cases) {
  for (const Units page_size : {1U, 16U, 64U})
    cases.push_back({names(page_size), [page_size](const Setting& setting, Report& report) {
                       return measure_replay(setting, page_size, report);
                     }});
}

}  // namespace canopy::bench
