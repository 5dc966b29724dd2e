#include <canopy/base/atomic_file.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <demo/demo.h>
#include <workload/generator.h>
#include "commands.h"
#include "interrupt.h"
#include "lab_arguments.h"
#include "terminal.h"
#include "tree_text.h"

namespace canopy::app {
namespace {

void print_hit_rate(const replay::Report& report, const Terminal& terminal) {
  std::vector<double> shares;
  replay::Sample before;
  for (const replay::Sample& sample : report.samples) {
    const std::uint64_t tokens = sample.prompt_tokens - before.prompt_tokens;
    shares.push_back(tokens ? static_cast<double>(sample.hit_tokens - before.hit_tokens) / static_cast<double>(tokens)
                            : 0);
    before = sample;
  }
  fmt::print("{}\n", terminal.bold("Prompt tokens reused, over time"));
  for (const std::string& line : chart(shares, 72, 6, terminal.unicode)) fmt::print("  {}\n", line);
  fmt::print("  {:>8}{}\n\n", "",
             terminal.dim(fmt::format("request 1{:>60}", fmt::format("request {}", grouped(report.requests)))));
}

}  // namespace

int demo(const DemoArguments& arguments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  if (auto apart = check_files(registry, {}, {{"--json", arguments.json}}); !apart) return unusable(apart.error().text);
  if (!arguments.json.empty())
    if (auto can = can_write_file(arguments.json); !can) return unusable(can.error().text);
  const Interrupt interrupt;
  const auto limit = amounts_of("--capacity", arguments.capacity, "tokens", 1, kUnlimited);
  if (!limit) return unusable(limit.error().text);
  if (limit->size() != 1) return unusable("--capacity " + arguments.capacity + ": the demo has one pool");
  const std::string capacity = fmt::format("groups.full.capacity={}", limit->front().value);
  auto engine = demo::make_engine(registry, {&capacity, 1}, arguments.store.empty() ? "host" : arguments.store);
  if (!engine) return unusable(engine.error().text);
  const auto source = demo::requests(arguments.seed);
  const Task task{"a demo engine", "chats, agents and a batch sweep of several tenants", arguments.json, 0,
                  demo::options()};
  return run_task(**engine, *source, registry, task, [&](const replay::Report& report) {
    const Terminal terminal = Terminal::of_stdout();
    fmt::print("\n");
    print_hit_rate(report, terminal);
    fmt::print("{}\n", terminal.bold("What is cached now: the heaviest prefixes of each tenant"));
    fmt::print("{}\n", tree_text(**engine, 28, terminal.unicode));
  });
}

}  // namespace canopy::app
