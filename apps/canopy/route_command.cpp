#include "route_command.h"

#include <canopy/config/yaml_options.h>
#include <canopy/engine/engine_file.h>
#include <canopy/support/atomic_file.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include <fleet/engines.h>
#include <fleet/recorded.h>
#include <workload/trace_formats.h>
#include "cli_options.h"
#include "interrupt.h"
#include "lab_arguments.h"
#include "stream_file.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using scheduling::kRouteNames;
using scheduling::Route;

struct RouteArguments {
  LabSource source;
  std::string config, json, capacity, page_size;
  std::vector<std::string> streams, assignments;
  std::vector<Route> formulas;
  bool dry_run = false;
  std::size_t workers = 8;
  fleet::Options options;
};

Result<std::unique_ptr<fleet::RecordedCaches>> recorded_of(const RouteArguments& arguments) {
  std::vector<std::pair<std::string, std::string>> streams;
  for (const std::string& path : arguments.streams) {
    auto content = stream_content(path);
    if (!content) return content.error();
    streams.emplace_back(std::filesystem::path(path).filename().string(), std::move(*content));
  }
  return fleet::RecordedCaches::read(streams, std::random_device()());
}

/// The engine's file with what the command line changes in it, without rows and without a feed.
Result<EngineConfig> engine_of(const RouteArguments& arguments, const Registry& registry) {
  auto document = parse_yaml_file(arguments.config);
  if (!document) return document.error();
  std::vector<std::string> all;
  if (!arguments.page_size.empty()) all.push_back("page_size=" + arguments.page_size);
  if (const YamlNode* groups = document->find("groups");
      groups && !groups->entries.empty() && !arguments.capacity.empty())
    all.push_back(fmt::format("groups.{}.capacity={}", groups->entries[0].first.scalar, arguments.capacity));
  all.insert(all.end(), arguments.assignments.begin(), arguments.assignments.end());
  all.emplace_back("feed={off: {}}");
  for (const std::string& assignment : all)
    if (auto set = set_value(*document, assignment); !set) return set.error();
  use_store(*document, "none");
  return read_engine_config(*document, registry);
}

/// What was read of each stream, and what could not be placed.
void print_recorded(const fleet::RecordedCaches& caches, const Terminal& terminal) {
  Grid grid({"worker", "messages", "missing", "restarts", "blocks now", "stored", "removed", "left out"});
  routing::IntakeCounts all;
  for (const fleet::RecordedWorker& worker : caches.recorded()) {
    const routing::IntakeCounts& counts = worker.counts;
    all.add(counts);
    grid.row({{worker.name},
              {grouped(worker.messages)},
              {grouped(worker.missing), worker.missing > 0 ? "33" : nullptr},
              {grouped(worker.restarts)},
              {grouped(worker.blocks)},
              {grouped(counts.stored)},
              {grouped(counts.removed)},
              {grouped(counts.left_out()), counts.left_out() > 0 ? "33" : nullptr}});
  }
  grid.print(terminal);
  const auto say = [](std::uint64_t blocks, const char* why) {
    if (blocks > 0) fmt::print("left out: {} {}\n", plural(blocks, "block"), why);
  };
  say(all.unknown_parents, "behind a block that the stream did not store before");
  say(all.other_sizes, fmt::format("not of {} tokens, the size of the first", caches.block_tokens()).c_str());
  say(all.other_groups, "of groups that are not full attention");
  say(all.extra_keys, "that stand for more than tokens");
  say(all.no_tokens, "without tokens of their own");
  say(all.other_media, "in a medium that this version does not know");
  fmt::print("\n");
}

void print(const fleet::Comparison& comparison, const Terminal& terminal) {
  Grid grid({"formula", "hit rate", "hit tokens", "busiest", "first token, mean", "p95", "rejected"});
  for (const fleet::Report& report : comparison.reports)
    grid.row({{kRouteNames[static_cast<std::size_t>(report.route)]},
              {percent(report.hit_rate())},
              {grouped(report.hit_tokens)},
              {fmt::format("{:.2f}", report.imbalance())},
              {seconds(report.mean_wait_ms / 1000)},
              {seconds(report.p95_wait_ms / 1000)},
              {grouped(report.rejected)}});
  grid.print(terminal);
  const fleet::Report& first = comparison.reports.front();
  fmt::print("\n{}\n", terminal.dim(fmt::format(
                           "{} of {}, {}. Busiest: tokens that the busiest of {} computes, over the mean. "
                           "Times are a model's: {} prompt tokens a second, {} ms a decoded token.",
                           plural(first.requests, "request"), comparison.source,
                           plural(first.prompt_tokens, "prompt token"), plural(first.workers.size(), "worker"),
                           grouped(comparison.speed.prefill_tokens_a_second), comparison.speed.step_ms)));
}

std::string flaw_of(const RouteArguments& arguments) {
  if (arguments.dry_run && arguments.streams.empty())
    return "canopy route --dry-run: name a recorded stream for each worker with --stream FILE";
  if (arguments.dry_run && !arguments.config.empty())
    return "canopy route --dry-run: " + arguments.config + " is not used; the workers are the recorded streams";
  if (!arguments.dry_run && !arguments.streams.empty())
    return "canopy route: --stream means something with --dry-run only";
  if (!arguments.dry_run && arguments.config.empty())
    return "canopy route: name an engine file for the simulated workers, or --dry-run with recorded streams";
  if (arguments.streams.size() > routing::kMostWorkers)
    return fmt::format("canopy route: {} streams, expected at most {}", arguments.streams.size(),
                       routing::kMostWorkers);
  return {};
}

int route(RouteArguments arguments, const PluginFolders& folders) {
  if (const std::string flaw = flaw_of(arguments); !flaw.empty()) return unusable(flaw);
  const Registry registry = load_plugins(folders);
  std::vector<RunFile> inputs = files_of(arguments.source);
  if (!arguments.config.empty()) inputs.push_back({"the engine file", arguments.config});
  for (const std::string& stream : arguments.streams) inputs.push_back({"--stream", stream});
  if (auto apart = check_files(registry, inputs, {{"--json", arguments.json}}); !apart)
    return unusable(apart.error().text);
  if (!arguments.json.empty())
    if (auto can = can_write_file(arguments.json); !can) return unusable(can.error().text);
  if (arguments.formulas.empty())
    for (std::size_t i = 0; i < kRouteNames.size(); ++i) arguments.formulas.push_back(static_cast<Route>(i));

  std::unique_ptr<fleet::RecordedCaches> recorded;
  EngineConfig config;
  if (arguments.dry_run) {
    auto read = recorded_of(arguments);
    if (!read) return unusable(read.error().text);
    recorded = std::move(*read);
  } else {
    auto engine = engine_of(arguments, registry);
    if (!engine) return unusable(engine.error().text);
    config = std::move(*engine);
  }
  const Interrupt interrupt;
  fleet::Comparison comparison;
  comparison.source = name_of(arguments.source);
  comparison.config = arguments.config;
  comparison.streams = arguments.streams;
  comparison.command = command_line();
  comparison.speed = arguments.options.speed;
  comparison.seed = arguments.options.seed;
  arguments.options.stopped = Interrupt::came;
  for (const Route formula : arguments.formulas) {
    auto source = open_source(arguments.source, "canopy route");
    if (!source) return unusable(source.error().text);
    std::unique_ptr<fleet::EngineCaches> engines;
    if (!arguments.dry_run) {
      auto made = fleet::EngineCaches::create(config, registry, arguments.workers);
      if (!made) return unusable(made.error().text);
      engines = std::move(*made);
    }
    fleet::Caches& caches = engines ? static_cast<fleet::Caches&>(*engines) : *recorded;
    comparison.block_tokens = caches.block_tokens();
    arguments.options.rules.route = formula;
    ProgressBar bar(kRouteNames[static_cast<std::size_t>(formula)], "requests");
    auto report = fleet::run(caches, **source, arguments.options,
                             [&](double share, std::uint64_t count) { bar.show(share, count); });
    bar.clear();
    if (!report) return unusable(report.error().text);
    if (Interrupt::came()) {
      unusable(fmt::format("canopy route: {} stopped it{}", Interrupt::name(),
                           arguments.json.empty() ? "" : "; no file was written, since it would be incomplete"));
      return Interrupt::exit_code();
    }
    if (report->requests == 0) return unusable("canopy route: the source has no request");
    comparison.reports.push_back(std::move(*report));
  }
  print_whatever_happens([&] {
    const Terminal terminal = Terminal::of_stdout();
    if (recorded) print_recorded(*recorded, terminal);
    print(comparison, terminal);
  });
  int status = kFine;
  for (const fleet::Report& report : comparison.reports) {
    if (report.violations > 0) status = kViolations;
    for (const std::string& sentence : report.reports) fmt::print(stderr, "{}\n", sentence);
  }
  if (!arguments.json.empty())
    if (auto written = fleet::write_comparison(comparison, arguments.json); !written)
      return unusable(written.error().text);
  return status;
}

}  // namespace

void add_route(CLI::App& program, const PluginFolders& folders, int& status) {
  auto arguments = std::make_shared<RouteArguments>();
  auto* command = program.add_subcommand("route",
                                         "Send a trace to several workers by the formulas of known routers: hit rate "
                                         "and balance of each (docs/routing.md)");
  auto* config = command->add_option("config", arguments->config,
                                     "engine file of every simulated worker, such as configs/engines/lru.yaml");
  auto* trace = command->add_option("--trace", arguments->source.trace, workload::trace_help());
  block_size(*command, arguments->source.block)->needs(trace);
  auto* workload =
      command
          ->add_option("--workload", arguments->source.workload, "workload file, such as configs/workloads/chat.yaml")
          ->excludes(trace);
  command->add_option("--workload-seed", arguments->source.seed, "seed of the workload, instead of the one in its file")
      ->check(whole(1, kMost))
      ->needs(workload);
  auto* dry = command->add_flag("--dry-run", arguments->dry_run,
                                "the workers are recorded streams of KV events and stay as they are at their end");
  repeated(command->add_option("--stream", arguments->streams, "recorded stream of a worker; may be repeated"));
  auto* count = command->add_option("--workers", arguments->workers, "simulated workers")
                    ->capture_default_str()
                    ->check(whole(1, routing::kMostWorkers));
  auto* capacity = command->add_option("--capacity", arguments->capacity,
                                       "limit of a worker's first pool, in tokens; 3M is 3000000");
  auto* page = command->add_option("--page-size", arguments->page_size, "tokens in a page");
  auto* set = repeated(command->add_option("--set", arguments->assignments,
                                           "path.to.key=value, changes the engine file; may be repeated"));
  for (auto* option : {count, capacity, page, set}) option->excludes(dry);
  config->excludes(dry);
  std::map<std::string, Route> formulas;
  for (std::size_t i = 0; i < kRouteNames.size(); ++i) formulas[kRouteNames[i]] = static_cast<Route>(i);
  repeated(
      command->add_option("--formula", arguments->formulas, "how a worker is chosen; may be repeated; without: all")
          ->transform(CLI::CheckedTransformer(formulas)));
  auto& options = arguments->options;
  command->add_option("--limit", options.limit, "stop after this many requests")->check(whole(1, kMost));
  command->add_option("--seed", options.seed, "of what is decided by lot")
      ->capture_default_str()
      ->check(whole(1, kMost));
  command
      ->add_option("--prefill-rate", options.speed.prefill_tokens_a_second,
                   "prompt tokens that a worker computes in a second")
      ->capture_default_str()
      ->check(whole(1, 1'000'000'000));
  command->add_option("--step-ms", options.speed.step_ms, "time in which a running request decodes a token")
      ->capture_default_str()
      ->check(whole(1, 1'000'000));
  command
      ->add_option("--temperature", options.rules.temperature,
                   "dynamo: above 0, by lot among the workers, weighted by their costs")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--json", arguments->json, "write the figures to this file");
  command->callback([=, &folders, &status] { status = route(*arguments, folders); });
}

}  // namespace canopy::app
