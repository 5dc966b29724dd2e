/// A run of `canopy replay` or `canopy demo`, from its first request to the report.
#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <canopy/eviction_strategy.h>
#include <fmt/format.h>

#include <mirror/tier_words.h>

#include "commands.h"
#include "interrupt.h"
#include "plugin_trouble.h"
#include "tenant_tables.h"
#include "terminal.h"

namespace canopy::app {
namespace {

constexpr std::size_t kMostTenants = 16;  ///< lines of tenants in the report

/// Adds the hits of each tier, and what moved between the tiers.
void add_tier_rows(Table& table, const replay::Report& report) {
  const replay::TierReport& tier = *report.host_tier;
  const auto hits = [&](const char* name, std::uint64_t tokens) {
    const double share =
        static_cast<double>(tokens) / static_cast<double>(std::max<std::uint64_t>(report.prompt_tokens, 1));
    table.row(name, fmt::format("{}, {}", plural(tokens, "token"), report.prompt_tokens ? percent(share) : ""));
  };
  const CounterValues& counters = tier.counters;
  const std::uint64_t host = counters[Counter::hit_tokens_host], storage = counters[Counter::hit_tokens_storage];
  hits("  from the pools", report.hit_tokens_device());
  hits("  from the host", host);
  if (tier.storage) hits("  from the storage", storage);
  table.row("host tier", fmt::format("{} of {} resident in {}; index {}, {}", grouped(tier.resident_tokens),
                                     grouped(tier.capacity_tokens), plural(tier.nodes, "node"), bytes(tier.index_bytes),
                                     seconds(tier.index_seconds)));
  for (const char* const name : {"host", "storage"}) {
    if (name == std::string_view("storage") && !tier.storage) break;
    for (const inspector::TierLine& line : inspector::tier_lines(counters, name, {}))
      if (!line.text.empty()) table.row("  " + line.label, line.text);
  }
  table.row("  waits",
            fmt::format("fetches took {}, {} of it hidden; requests waited {}",
                        seconds(static_cast<double>(tier.load_us) / 1e6), percent(tier.hidden_us, tier.load_us),
                        seconds(static_cast<double>(tier.waited_us) / 1e6)));
  if (counters[Counter::fetch_saved_us] > 0)
    table.row("prefill time",
              fmt::format("{} saved, {} lost by waiting; {} more than 5 % later than by computing, {} at most",
                          seconds(static_cast<double>(counters[Counter::fetch_saved_us]) / 1e6),
                          seconds(static_cast<double>(tier.waited_us) / 1e6), plural(tier.later, "request"),
                          seconds(static_cast<double>(tier.latest_us) / 1e6)));
}

/// A line of the report: its name, and its text with the names of figures.
struct Line {
  const char *name, *text;
  bool shown = true;
};

void add(Table& table, const replay::Report& report, std::initializer_list<Line> lines) {
  for (const Line& line : lines)
    if (line.shown) table.row(line.name, replay::in_words(report, line.text));
}

void print_report(const replay::Report& report, const std::string& title) {
  const Terminal terminal = Terminal::of_stdout();
  const bool timed = report.mode == replay::Mode::timed;
  Table table;
  add(table, report, {{"requests", "{requests}, {prompt_tokens}"}});
  table.row(
      "reused",
      fmt::format("{}, {}{}", plural(report.hit_tokens, "token"), terminal.bold(percent(report.hit_rate())),
                  report.rejected > 0 ? fmt::format(" of all prompts, {} of them rejected", grouped(report.rejected))
                                      : std::string()));
  if (report.host_tier) add_tier_rows(table, report);
  add(table, report,
      {{"decoded", "{output_tokens}", timed},
       {"running",
        "{n_most_running} at once, {n_waited} waited for room, {n_retracted} retracted, {n_aborted} aborted; "
        "{computed_twice_tokens} computed by two requests at once",
        timed},
       {"computed again", "{repointed_tokens} that the cache had when they were committed",
        report.repointed_tokens > 0},
       {"taken over", "{rematched_tokens} that other requests computed meanwhile", report.rematched_tokens > 0},
       {"waiting time", "mean {mean_wait_ms}, p95 {p95_wait_ms} of {n_started} of {requests}, order {schedule}", timed},
       {"first token",
        "p50 {p50_ttft_ms}, p95 {p95_ttft_ms} of {n_answered} of {requests}; {prefill_seconds} of prefill", timed},
       {"evicted", "{evicted_tokens} in {evict_calls}"},
       {"resized", "{resizes}, {relocated_pages} relocated", report.resizes > 0},
       {"rejected", "{rejected}"},
       {"resident", "{n_resident_tokens} of {capacity_tokens} in {nodes}"}});
  for (const replay::GroupReport& group : report.groups)
    table.row(report.groups.size() == 1 ? "pool" : "pool " + group.name,
              fmt::format("{} in tree, {} free, longest run {}; handed out in runs of {:.1f} pages",
                          plural(group.tree_pages, "page"), grouped(group.free_pages), grouped(group.longest_free_run),
                          group.mean_run()));
  const std::uint64_t page = report.page_size;
  const std::uint64_t formula = report.resident_tokens * 4 + report.resident_tokens / page * 4 + report.nodes * 160;
  table.row("index memory",
            fmt::format("{}{}", bytes(report.index_bytes),
                        formula ? fmt::format(", {:.2f} times the formula 4 B/token + 4 B/page + 160 B/node",
                                              static_cast<double>(report.index_bytes) / static_cast<double>(formula))
                                : std::string()));
  table.row("index time",
            fmt::format("{}, {} a request", seconds(report.index_seconds),
                        seconds(report.requests ? report.index_seconds / static_cast<double>(report.requests) : 0)));
  add(table, report, {{"run time", "{seconds}"}});
  fmt::print("{}  {}\n", terminal.bold(report.config),
             terminal.dim(fmt::format("on {}, page {}{}", report.source, report.page_size, title)));
  table.print(terminal);
  fmt::print("\n");
  if (!report.tenants.empty()) {
    print_tenants(report.tenants, report.payments, report.capacity_tokens, kMostTenants, terminal);
    fmt::print("\n");
  }
  if (report.incomplete)
    fmt::print("{} the run was stopped: these are the figures so far\n", terminal.yellow("incomplete:"));
  print_notes(report.notes, terminal);
  print_doubts(report.doubts, stdout, terminal);
  for (const std::string& sentence : report.reports)
    fmt::print("{} {}\n", terminal.red("violation:"), printable(sentence));
  const std::string verdict = grouped(report.ledger_checks + report.content_checks) + " checks, " +
                              replay::in_words(report, "{violations}, seed {seed}, digest {digest}");
  fmt::print("{}\n", report.violations > 0 || !report.doubts.empty() ? terminal.red(verdict) : terminal.green(verdict));
}

/// Returns "policy lru 1.0.0"; for several groups, "policy full lru 1.0.0, window slru 1.0.0".
std::string policies_in_words(const replay::Report& report) {
  std::string words;
  for (const replay::GroupReport& group : report.groups)
    words +=
        fmt::format("{}{}{} {}", words.empty() ? "policy " : ", ",
                    report.groups.size() == 1 ? std::string() : group.name + " ", group.policy, group.policy_version);
  return words;
}

void name_policies(replay::Report& report, const Registry& registry) {
  for (replay::GroupReport& group : report.groups)
    if (const Offer* offer = registry.find(EvictionStrategy::kInterface, group.policy))
      group.policy_version = offer->version;
}

}  // namespace

int run_task(Engine& engine, workload::RequestSource& source, const Registry& registry, const Task& task,
             const std::function<void(const replay::Report&)>& before) {
  replay::Options options = task.options;
  options.stopped = Interrupt::came;
  options.failed_report = true;
  const HangWatch watch(std::chrono::seconds(5));
  ProgressBar bar("replay", "requests");
  auto report =
      replay::run(engine, source, options, [&](double share, std::uint64_t count) { bar.show(share, count); });
  bar.clear();
  FeedSink* feed = engine.feed();
  if (!report) {
    if (feed) feed->discard();
    return unusable(report.error().text);
  }
  if (feed) feed->finish();
  report->config = task.config;
  report->source = task.source;
  report->engine_digest = task.engine_digest;
  if (task.published) report->published = task.published();
  name_policies(*report, registry);
  print_whatever_happens([&] {
    if (before) before(*report);
    print_report(*report, task.engine_digest ? fmt::format(", {}, seed {}, engine {:016x}", policies_in_words(*report),
                                                           report->seed, task.engine_digest)
                                             : "");
  });
  int status = report->violations > 0 || !report->doubts.empty() ? kViolations : kFine;
  if (report->incomplete) {
    unusable(fmt::format("canopy: {} stopped the run after {}{}", Interrupt::name(),
                         plural(report->requests, "request"),
                         task.json.empty() ? "" : "; no report was written, because it would be incomplete"));
    status = exit_of(status, Interrupt::exit_code());
  } else if (!task.json.empty()) {
    if (auto written = replay::write_report(*report, task.json); !written)
      status = exit_of(status, unusable(written.error().text));
  }
  for (const replay::Resize& resize : options.resizes)
    if (resize.request > report->requests && !report->incomplete)
      status = exit_of(status, unusable(fmt::format("--resize {}: the run had {}, so this limit was never set",
                                                    resize.request, plural(report->requests, "request"))));
  if (feed && !feed->failure().empty()) status = exit_of(status, unusable(feed->failure()));
  return status;
}

}  // namespace canopy::app
