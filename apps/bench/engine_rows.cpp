/// The same replay through a whole engine: what the index, the ledger and everything else cost of it.
#include <canopy/engine.h>
#include <fmt/format.h>

#include "cases.h"
#include "clock.h"
#include "replay.h"
#include "replay_source.h"

namespace canopy::bench {
namespace {

/// Counts the time that making the requests takes: it is no part of an engine.
class TimedSource final : public workload::RequestSource {
 public:
  explicit TimedSource(workload::RequestSource& source) : source_(source) {}
  Result<bool> next(workload::ClientRequest& request) override {
    const double start = now();
    auto more = source_.next(request);
    seconds_ += now() - start;
    return more;
  }
  double progress() const override { return source_.progress(); }
  double seconds() const { return seconds_; }

 private:
  workload::RequestSource& source_;
  double seconds_ = 0;
};

/// What one check costs, on an engine that is full.
double seconds_a_check(const Engine& engine) {
  constexpr std::size_t kChecks = 200'000;
  Ledger ledger;
  const double took = seconds_of([&] {
    for (std::size_t i = 0; i < kChecks; ++i)
      ledger.check(engine.pool(0), engine.index(), 0, engine.page_size(), 0, "a measurement");
  });
  return took / kChecks;
}

const char* const kNames[] = {"engine: whole replay", "engine: index calls", "engine: ledger"};

Result<std::monostate> measure(const Setting& setting, Report& report, std::vector<Row>& rows) {
  Repeated all, index, ledger;
  std::string section;
  for (std::size_t repetition = 0; repetition <= setting.repetitions; ++repetition) {
    auto source = open_source(setting.options);
    if (!source) return source.error();
    const std::string text = fmt::format(
        "{{ page_size: 16, index: {}, groups: {{ full: {{ reach: path, capacity: {}, allocator: free_list, eviction: "
        "lru }} }}, store: none }}",
        setting.options.index, source->capacity);
    auto document = parse_yaml(text, "bench");
    if (!document) return document.error();
    auto config = read_engine_config(*document, setting.registry);
    if (!config) return config.error();
    auto engine = Engine::create(*config, setting.registry);
    if (!engine) return engine.error();
    TimedSource timed(*source->requests);
    replay::Options options;
    options.limit = source->limit;
    options.content = false;
    const auto ran = replay::run(**engine, timed, options, {});
    if (!ran) return ran.error();
    if (ran->violations > 0) return Error{"canopy bench: the engine's replay broke the books: " + ran->reports.at(0)};
    if (repetition == 0) continue;  // warm-up
    const double seconds = ran->seconds - timed.seconds();
    all.add(seconds);
    index.add(ran->index_seconds);
    // The replay ended with an audit of every page, which its time leaves out.
    const std::uint64_t before = (*engine)->ledger().checks();
    (*engine)->audit();
    const std::uint64_t made = ran->ledger_checks - ((*engine)->ledger().checks() - before);
    ledger.add(seconds_a_check(**engine) * static_cast<double>(made) / seconds);
    report.source = source->name;
    section = fmt::format("An engine, page 16, ledger on, no store: {} requests of {}", ran->requests, source->name);
  }
  const char* const without = "without making the prompts";
  rows.push_back({section, kNames[0], Kind::time, "a replay", all.spread(), std::nullopt, std::nullopt, without});
  rows.push_back({section, kNames[1], Kind::time, "a replay", index.spread(), std::nullopt, std::nullopt, ""});
  rows.push_back({section, kNames[2], Kind::share, "of the whole replay", ledger.spread(), std::nullopt, std::nullopt,
                  "checks made, times what one costs"});
  return std::monostate{};
}

}  // namespace

void add_engine_cases(const Options&, std::vector<Case>& cases) {
  cases.push_back({"An engine", {std::begin(kNames), std::end(kNames)}, measure});
}

}  // namespace canopy::bench
