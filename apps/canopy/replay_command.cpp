#include <canopy/config/nearest_name.h>
#include <canopy/config/yaml_options.h>
#include <canopy/engine/engine_file.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <canopy/support/atomic_file.h>
#include <workload/generator.h>
#include <workload/trace_formats.h>
#include "commands.h"
#include "plugin_trouble.h"
#include "terminal.h"

namespace canopy::app {
namespace {

/// The short options as assignments, before those of --set.
std::vector<std::string> assignments_of(const ReplayArguments& arguments, const YamlNode& engine) {
  std::vector<std::string> all;
  if (!arguments.page_size.empty()) all.push_back("page_size=" + arguments.page_size);
  if (const YamlNode* groups = engine.find("groups")) {
    for (const auto& [group, value] : groups->entries) {
      if (!arguments.capacity.empty() && &group == &groups->entries[0].first)
        all.push_back(fmt::format("groups.{}.capacity={}", group.scalar, arguments.capacity));
      if (!arguments.policy.empty())
        all.push_back(fmt::format("groups.{}.eviction={}", group.scalar, arguments.policy));
    }
  }
  if (!arguments.serve.empty())
    all.push_back(fmt::format("feed={{shm: {{name: {}, controls: true}}}}", to_yaml(arguments.serve)));
  if (!arguments.record.empty()) all.push_back(fmt::format("feed={{file: {{path: {}}}}}", to_yaml(arguments.record)));
  all.insert(all.end(), arguments.assignments.begin(), arguments.assignments.end());
  return all;
}

/// The engine's file with what the command line changes in it.
Result<EngineConfig> config_of(const ReplayArguments& arguments, const Registry& registry) {
  auto engine = parse_yaml_file(arguments.config);
  if (!engine) return engine.error();
  for (const std::string& assignment : assignments_of(arguments, *engine))
    if (auto set = set_value(*engine, assignment); !set) return set.error();
  if (!arguments.store.empty()) use_store(*engine, arguments.store);
  return read_engine_config(*engine, registry);
}

Result<std::unique_ptr<workload::RequestSource>> source_of(const ReplayArguments& arguments) {
  if (!arguments.trace.empty()) return workload::open_trace(arguments.trace);
  if (!arguments.workload.empty()) return workload::open_generator(arguments.workload, arguments.seed.value_or(0));
  return Error{"canopy replay: nothing to replay; name a trace with --trace FILE or a workload with --workload FILE"};
}

/// REQUEST:TOKENS, or REQUEST:GROUP:TOKENS.
Result<std::vector<replay::Resize>> resizes_of(const ReplayArguments& arguments, const EngineConfig& config) {
  std::vector<replay::Resize> all;
  for (const std::string& text : arguments.resizes) {
    const std::size_t first = text.find(':'), last = text.rfind(':');
    if (first == std::string::npos)
      return Error{fmt::format("--resize {}: expected REQUEST:TOKENS or REQUEST:GROUP:TOKENS, such as 500:3M", text)};
    Complaints complaints;
    const auto number = [&](const std::string& digits, const char* what, std::uint64_t least) {
      YamlNode node;
      node.kind = YamlNode::Kind::scalar;
      node.scalar = digits;
      node.mark.source = "--resize " + text;
      return read_number(node, what, least, kUnlimited, what, complaints).value_or(0);
    };
    replay::Resize resize{number(text.substr(0, first), "the request it comes before", 1),
                          first == last ? "" : text.substr(first + 1, last - first - 1),
                          number(text.substr(last + 1), "tokens", config.page_size)};
    if (!complaints.empty()) return Error{complaints.front()};
    std::vector<std::string> groups;
    for (const GroupConfig& group : config.groups) groups.push_back(group.name);
    if (!resize.group.empty() && std::find(groups.begin(), groups.end(), resize.group) == groups.end())
      return Error{fmt::format("--resize {}: the engine has no group '{}'{}", text, resize.group,
                               did_you_mean(resize.group, groups))};
    all.push_back(std::move(resize));
  }
  return all;
}

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

Result<replay::Report> run_with_progress(Engine& engine, workload::RequestSource& source,
                                         const replay::Options& options, const std::string& config,
                                         const std::string& source_name, const std::string& report_path) {
  if (!report_path.empty())
    if (auto can = can_write_file(report_path); !can) return can.error();
  const HangWatch watch(std::chrono::seconds(5));
  ProgressBar bar("replay", "requests");
  auto report =
      replay::run(engine, source, options, [&](double share, std::uint64_t count) { bar.show(share, count); });
  bar.clear();
  if (!report) return report.error();
  report->config = config;
  report->source = source_name;
  if (!report_path.empty())
    if (auto written = replay::write_report(*report, report_path); !written) return written.error();
  return report;
}

int print_report(const replay::Report& report) {
  const Terminal terminal = Terminal::of_stdout();
  const auto tokens = [](std::uint64_t count) { return plural(count, "token"); };
  Table table;
  table.row("requests", fmt::format("{}, {}", plural(report.requests, "request"), tokens(report.prompt_tokens)));
  table.row("reused", fmt::format("{}, {}", tokens(report.hit_tokens), terminal.bold(percent(report.hit_rate()))));
  if (report.mode == replay::Mode::timed) {
    table.row("decoded", tokens(report.output_tokens));
    table.row("on the way",
              fmt::format(
                  "{} at once, {} waited, {} retracted, {} aborted; {} computed by two requests at once, one copy kept",
                  grouped(report.most_running), grouped(report.waited), grouped(report.retracted),
                  grouped(report.aborted), tokens(report.repointed_tokens)));
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
             terminal.dim(fmt::format("on {}, page {}", report.source, report.page_size)));
  table.print(terminal);
  fmt::print("\n");
  for (const std::string& note : report.notes) fmt::print("{} {}\n", terminal.bold("note:"), note);
  for (const std::string& sentence : report.reports) fmt::print("{} {}\n", terminal.red("violation:"), sentence);
  const std::string verdict =
      fmt::format("{} checks, {}, seed {}, digest {:016x}", grouped(report.ledger_checks + report.content_checks),
                  plural(report.violations, "violation"), report.seed, report.digest);
  fmt::print("{}\n", report.violations ? terminal.red(verdict) : terminal.green(verdict));
  return report.violations ? kViolations : kFine;
}

int replay_trace(const ReplayArguments& arguments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  auto config = config_of(arguments, registry);
  if (!config) return unusable(config.error().text);
  auto resizes = resizes_of(arguments, *config);
  if (!resizes) return unusable(resizes.error().text);
  auto source = source_of(arguments);
  if (!source) return unusable(source.error().text);
  auto engine = Engine::create(*config, registry);
  if (!engine) return unusable(engine.error().text);
  replay::Options options = arguments.options;
  options.resizes = std::move(*resizes);
  auto report =
      run_with_progress(**engine, **source, options, base_name(arguments.config),
                        arguments.trace.empty() ? base_name(arguments.workload) : workload::trace_name(arguments.trace),
                        arguments.report);
  if (!report) return unusable(report.error().text);
  const int verdict = print_report(*report);
  if (const FeedSink* feed = (*engine)->feed(); feed && !feed->failure().empty()) return unusable(feed->failure());
  return verdict;
}

}  // namespace canopy::app
