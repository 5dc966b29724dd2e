/// A run of `canopy replay` or `canopy demo`, from its first request to the report.
#include <canopy/eviction_strategy.h>
#include <canopy/support/figures.h>
#include <canopy/support/printable.h>
#include <fmt/format.h>

#include "commands.h"
#include "interrupt.h"
#include "plugin_trouble.h"
#include "terminal.h"

namespace canopy::app {
namespace {

std::string moved(std::uint64_t tokens, std::uint64_t moved_bytes) {
  return plural(tokens, "token") + (moved_bytes > 0 ? ", " + bytes(moved_bytes) : "");
}

std::string outcomes(std::span<const std::uint64_t> counts, std::span<const char* const> names) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(counts[i]), names[i]);
  return printable(text.empty() ? "none" : text);
}

void add_storage_rows(Table& table, const StorageFigures& storage) {
  table.row("storage", fmt::format("{} evicted for room and not put; {}, {}", grouped(storage.dropped_tokens),
                                   plural(storage.damaged_records, "damaged record"),
                                   plural(storage.breaks, "time") + " not called for a while"));
  table.row("  put", fmt::format("{}; {} not kept", moved(storage.written_tokens, storage.written_bytes),
                                 grouped(storage.unkept_tokens)));
  table.row("  got", moved(storage.read_tokens, storage.read_bytes));
  table.row("  asked",
            outcomes(storage.brings, kBringOutcomes) +
                (storage.outwaited > 0 ? fmt::format("; {} not waited for to the end", grouped(storage.outwaited))
                                       : std::string()));
}

/// Hits by tier, and what moved between them.
void add_tier_rows(Table& table, const replay::Report& report) {
  const replay::TierReport& tier = *report.host_tier;
  const auto hits = [&](const char* name, std::uint64_t tokens) {
    const double share =
        static_cast<double>(tokens) / static_cast<double>(std::max<std::uint64_t>(report.prompt_tokens, 1));
    table.row(name, fmt::format("{}, {}", plural(tokens, "token"), report.prompt_tokens ? percent(share) : ""));
  };
  const std::uint64_t stored = report.storage ? report.storage->hit_tokens : 0;
  hits("  from the pools", report.hit_tokens - tier.hit_tokens - stored);
  hits("  from the host", tier.hit_tokens);
  if (report.storage) hits("  from the storage", stored);
  table.row("host tier",
            fmt::format("{} of {} resident in {}, {} evicted; index {}, {}", grouped(tier.resident_tokens),
                        grouped(tier.capacity_tokens), plural(tier.nodes, "node"), grouped(tier.evicted_tokens),
                        bytes(tier.index_bytes), seconds(tier.index_seconds)));
  table.row("  copied down", fmt::format("{}; {} dropped, {} copied for nothing",
                                         moved(tier.moved.written_tokens, tier.moved.written_bytes),
                                         grouped(tier.moved.dropped_tokens), grouped(tier.moved.lost_tokens)));
  table.row("  copied up",
            fmt::format("{} in {}, {} of it hidden; requests waited {}",
                        moved(tier.moved.loaded_tokens, tier.moved.loaded_bytes),
                        seconds(static_cast<double>(tier.load_us) / 1e6), percent(tier.hidden_us, tier.load_us),
                        seconds(static_cast<double>(tier.waited_us) / 1e6)));
  if (report.storage) add_storage_rows(table, report.storage->moved);
  table.row("fetches", outcomes(tier.moved.fetches, kFetchOutcomes));
  table.row("  of these", outcomes(tier.moved.ends, kFetchEnds));
  if (tier.moved.saved_us > 0)
    table.row("prefill time",
              fmt::format("{} saved, {} lost by waiting; {} more than 5 % later than computing, {} at most",
                          seconds(static_cast<double>(tier.moved.saved_us) / 1e6),
                          seconds(static_cast<double>(tier.waited_us) / 1e6), plural(tier.later, "request"),
                          seconds(static_cast<double>(tier.latest_us) / 1e6)));
}

void print_report(const replay::Report& report, const std::string& title) {
  const Terminal terminal = Terminal::of_stdout();
  const auto tokens = [](std::uint64_t count) { return plural(count, "token"); };
  Table table;
  table.row("requests", fmt::format("{}, {}", plural(report.requests, "request"), tokens(report.prompt_tokens)));
  table.row("reused", fmt::format("{}, {}", tokens(report.hit_tokens), terminal.bold(percent(report.hit_rate()))));
  if (report.host_tier) add_tier_rows(table, report);
  if (report.mode == replay::Mode::timed) {
    table.row("decoded", tokens(report.output_tokens));
    table.row("on the way",
              fmt::format("{} at once, {} waited, {} retracted, {} aborted; {} computed by two requests at once",
                          grouped(report.most_running), grouped(report.waited), grouped(report.retracted),
                          grouped(report.aborted), tokens(report.repointed_tokens)));
    if (report.rematched_tokens > 0)
      table.row("taken over",
                fmt::format("{} that other requests computed meanwhile", tokens(report.rematched_tokens)));
    table.row("waiting time", fmt::format("mean {}, p95 {}, order {}", seconds(report.mean_wait_ms / 1000),
                                          seconds(static_cast<double>(report.p95_wait_ms) / 1000),
                                          scheduling::kScheduleNames[static_cast<std::size_t>(report.order.schedule)]));
  }
  table.row("evicted", fmt::format("{} in {}", tokens(report.evicted_tokens), plural(report.evict_calls, "call")));
  if (report.resizes > 0)
    table.row("resized",
              fmt::format("{}, {} relocated", plural(report.resizes, "time"), plural(report.relocated_pages, "page")));
  table.row("rejected", plural(report.rejected, "request"));
  table.row("resident",
            fmt::format("{} of {} in {}", grouped(report.resident_tokens),
                        report.capacity_tokens == kUnlimited ? "unlimited" : grouped(report.capacity_tokens),
                        plural(report.nodes, "node")));
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
  table.row("run time", seconds(report.seconds));
  fmt::print("{}  {}\n", terminal.bold(report.config),
             terminal.dim(fmt::format("on {}, page {}{}", report.source, report.page_size, title)));
  table.print(terminal);
  fmt::print("\n");
  if (report.incomplete)
    fmt::print("{} the run was stopped: these are the figures until then\n", terminal.yellow("incomplete:"));
  if (report.inserts_cut_short > 0)
    fmt::print(
        "{} the index had none for {} of its matches and inserts: hits and digest are those of a smaller cache\n",
        terminal.red("memory:"), grouped(report.inserts_cut_short));
  for (const std::string& note : report.notes) fmt::print("{} {}\n", terminal.bold("note:"), printable(note));
  for (const std::string& sentence : report.reports)
    fmt::print("{} {}\n", terminal.red("violation:"), printable(sentence));
  const std::string verdict =
      fmt::format("{} checks, {}, seed {}, digest {:016x}", grouped(report.ledger_checks + report.content_checks),
                  plural(report.violations, "violation"), report.seed, report.digest);
  fmt::print("{}\n", report.violations ? terminal.red(verdict) : terminal.green(verdict));
}

/// "policy lru 1.0.0", or of several groups "policy full lru 1.0.0, window slru 1.0.0".
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

Result<std::monostate> check_files(const Registry& registry, std::vector<RunFile> inputs,
                                   const std::vector<RunFile>& outputs) {
  inputs.push_back({"the program", "/proc/self/exe"});
  for (const Offer& offer : registry.offers()) inputs.push_back({"the plugin", offer.file.string()});
  for (const Refusal& refusal : registry.refusals()) inputs.push_back({"the file", refusal.file.string()});
  return check_run_files(inputs, outputs);
}

int run_task(Engine& engine, workload::RequestSource& source, const Registry& registry, const Task& task,
             const std::function<void(const replay::Report&)>& before) {
  replay::Options options = task.options;
  options.stopped = Interrupt::came;
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
  int status = report->violations || report->inserts_cut_short ? kViolations : kFine;
  if (report->incomplete) {
    unusable(fmt::format("canopy: {} stopped the run after {}{}", Interrupt::name(),
                         plural(report->requests, "request"),
                         task.report.empty() ? "" : "; no report was written, since it would be incomplete"));
    if (status == kFine) status = Interrupt::exit_code();
  } else if (!task.report.empty()) {
    if (auto written = replay::write_report(*report, task.report); !written) status = unusable(written.error().text);
  }
  for (const replay::Resize& resize : options.resizes)
    if (resize.request > report->requests && !report->incomplete)
      status = unusable(fmt::format("--resize {}: the run had {}, so this limit was never set", resize.request,
                                    plural(report->requests, "request")));
  if (feed && !feed->failure().empty()) status = unusable(feed->failure());
  return status;
}

}  // namespace canopy::app
