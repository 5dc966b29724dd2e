#include <fmt/format.h>

#include "commands.h"
#include "generator.h"
#include "terminal.h"
#include "tree_text.h"

namespace canopy::app {
namespace {

// An engine as a file would describe it; configs/engines/lru.yaml is the same with comments.
constexpr const char* kEngine = R"(
page_size: 16
key: token
index: radix
groups:
  full: { reach: path, capacity: 150000, allocator: free_list, eviction: lru }
store: { host: { layers: 2, streams: { k: { heads: 2, head_dim: 16, dtype: bf16 }, v: { heads: 2, head_dim: 16, dtype: bf16 } } } }
)";

Result<std::unique_ptr<Engine>> demo_engine(const Registry& registry, std::uint64_t capacity) {
  auto document = parse_yaml(kEngine, "demo");
  if (!document) return document.error();
  if (auto set = set_value(*document, fmt::format("groups.full.capacity={}", capacity)); !set) return set.error();
  auto config = read_engine_config(*document, registry);
  if (!config) return config.error();
  return Engine::create(*config, registry);
}

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
  auto engine = demo_engine(registry, arguments.capacity);
  if (!engine) return unusable(engine.error().text);
  const auto source = workload::demo_workload(arguments.seed);
  replay::Options options;
  options.mode = replay::Mode::timed;
  options.running = 48;
  options.prefill_tokens = 4096;
  auto report = run_with_progress(**engine, *source, options, "a demo engine",
                                  "chats, agents and a batch sweep of several tenants", arguments.report);
  if (!report) return unusable(report.error().text);

  const Terminal terminal = Terminal::of_stdout();
  fmt::print("\n");
  print_hit_rate(*report, terminal);
  fmt::print("{}\n", terminal.bold("What is cached now: the heaviest prefixes of each tenant"));
  fmt::print("{}\n", tree_text(**engine, 28, terminal.unicode));
  return print_report(*report);
}

}  // namespace canopy::app
