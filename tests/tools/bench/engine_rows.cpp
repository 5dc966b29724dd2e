/// The same replay through a whole engine: the cost of the index, of the ledger and of everything else.
#include <fmt/format.h>

#include "cases.h"
#include "clock.h"
#include "engine_replay.h"

namespace canopy::bench {
namespace {

/// Returns the seconds of one check, on a full engine.
double seconds_a_check(const Engine& engine) {
  constexpr std::size_t kChecks = 200'000;
  Ledger ledger;
  const double took = seconds_of([&] {
    for (std::size_t i = 0; i < kChecks; ++i)
      ledger.check(engine.pool(0).group(), engine.pool(0).occupancy(), engine.index().sizes(0), engine.page_size(), 0,
                   0, "a measurement");
  });
  return took / kChecks;
}

const char* const kEngineNames[] = {"engine: whole replay", "engine: index calls", "engine: ledger"};

Result<std::monostate> measure_engine_parts(const Setting& setting, Report& report) {
  Measured all, index;
  Repeated ledger;
  std::string section;
  for (std::size_t repetition = 0; repetition <= setting.repetitions; ++repetition) {
    auto ran = replay_engine(setting, "{ off: {} }");
    if (!ran) return ran.error();
    if (repetition == 0) continue;  // warm-up
    all.ours.add(ran->seconds);
    index.ours.add(ran->report.index_seconds);
    // The replay ended with an audit of every page, which its time does not contain.
    const std::uint64_t before = ran->engine->ledger().checks();
    ran->engine->audit();
    const std::uint64_t made = ran->report.ledger_checks - (ran->engine->ledger().checks() - before);
    ledger.add(seconds_a_check(*ran->engine) * static_cast<double>(made) / ran->seconds);
    report.source = ran->source;
    section =
        fmt::format("An engine, page 16, ledger on, no store: {} requests of {}", ran->report.requests, ran->source);
  }
  report.rows.push_back(all.row(section, kEngineNames[0], "a replay", "without making the prompts"));
  report.rows.push_back(index.row(section, kEngineNames[1], "a replay"));
  report.rows.push_back({section, kEngineNames[2], Kind::share, "of the whole replay", ledger.spread(), std::nullopt,
                         std::nullopt, "checks made, times what one costs"});
  return std::monostate{};
}

}  // namespace

void add_engine_cases(const Options&, std::vector<Case>& cases) {
  cases.push_back({{std::begin(kEngineNames), std::end(kEngineNames)}, measure_engine_parts});
}

}  // namespace canopy::bench
