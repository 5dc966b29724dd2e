#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <new>

#include <workload/trace_formats.h>
#include "commands.h"

namespace {

using namespace canopy;
using namespace canopy::app;

constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

const char* const kAbout =
    "Canopy: prefix reuse of KV caches in LLM serving.\n"
    "Try `canopy demo`, then `canopy replay CONFIG --trace FILE`.";

/// Whole numbers of a range, said in words a person wrote.
CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  return {[least, most](std::string& text) {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
              return std::string();
            return "'" + text + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(most);
          },
          std::to_string(least) + "..", "whole number"};
}

void add_replay(CLI::App& program, ReplayArguments& arguments, const std::vector<std::string>& folders, int& status) {
  auto* replay = program.add_subcommand("replay", "Run a trace or a generated workload through an engine");
  replay->add_option("config", arguments.config, "engine description, such as configs/engines/sglang_lru.yaml")
      ->required();
  auto* trace = replay->add_option("--trace", arguments.trace, workload::trace_help());
  replay->add_option("--workload", arguments.workload, "generator description, such as configs/workloads/chat.yaml")
      ->excludes(trace);
  replay->add_option("--capacity", arguments.capacity, "tokens of the first group's pool; 3M is 3000000");
  replay->add_option("--policy", arguments.policy, "eviction policy of every group");
  replay->add_option("--store", arguments.store, "keep the rows there, such as host or cuda; none: page numbers only");
  replay->add_option("--page-size", arguments.page_size, "tokens a page");
  replay->add_option("--limit", arguments.options.limit, "stop after so many requests")->check(whole(0, kMost));
  replay->add_option("--set", arguments.assignments, "path.to.key=value on top of the description; may be repeated")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  replay->add_option("--seed", arguments.seed, "of the generator, in place of the one in its file")
      ->check(whole(1, kMost));
  replay
      ->add_option(
          "--resize", arguments.resizes,
          "REQUEST:TOKENS or REQUEST:GROUP:TOKENS: another limit of a pool before that request; may be repeated")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto* serve = replay->add_option("--serve", arguments.serve,
                                   "publish the feed under this name, for canopy-inspector and canopy top");
  replay->add_option("--record", arguments.record, "record the feed to this file")->excludes(serve);
  replay->add_option("--pace", arguments.options.pace, "requests a second at most, to look on")->check(whole(1, kMost));
  replay->add_option("--report", arguments.report, "write the result as JSON to this file");
  replay
      ->add_option("--mode", arguments.options.mode,
                   "serial: one request after the other; timed: overlapping, as a server has them")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, replay::Mode>{{"serial", replay::Mode::serial}, {"timed", replay::Mode::timed}}));
  replay->add_flag("!--no-content", arguments.options.content, "neither write nor compare the bytes of reused tokens");
  const char* const timed = "Timed mode";
  replay->add_option("--running", arguments.options.running, "requests at once")
      ->capture_default_str()
      ->check(whole(1, 100000))
      ->group(timed);
  replay->add_option("--prefill", arguments.options.prefill_tokens, "prompt tokens a step computes at most")
      ->capture_default_str()
      ->check(whole(1, 100000000))
      ->group(timed);
  replay->add_option("--step-ms", arguments.options.step_ms, "simulated time of a step")
      ->capture_default_str()
      ->check(whole(1, 1000000))
      ->group(timed);
  replay->add_option("--abort-permille", arguments.options.abort_permille, "requests cancelled on the way")
      ->capture_default_str()
      ->check(whole(0, 1000))
      ->group(timed);
  replay->callback([&] { status = replay_trace(arguments, folders); });
}

void add_bench(CLI::App& program, BenchArguments& arguments, BenchGpuArguments& gpu_arguments,
               const std::vector<std::string>& folders, int& status) {
  auto* bench = program.add_subcommand(
      "bench", "Measure the hot paths beside the least that must be done and the original's algorithm");
  bench->add_flag("--quick", arguments.options.quick, "smaller trees, fewer requests and repetitions: about 20 s");
  bench->add_option("--only", arguments.options.only, "rows whose name contains this");
  bench->add_option("--index", arguments.options.index, "the index to measure")->capture_default_str();
  bench->add_option("--trace", arguments.options.trace,
                    "replayed in place of a generated workload: " + workload::trace_help());
  bench->add_option("--json", arguments.json, "write the figures to this file");
  bench->add_option("--compare", arguments.compare, "show how each row changed since this file of --json");
  bench->add_option("--from", arguments.from, "show the figures of this file of --json, and measure nothing");
  auto* gpu = bench->add_subcommand("gpu",
                                    "Measure the GPU's store beside the rooflines of the same run, and hold it "
                                    "to its acceptance figures. Exit code 1: wrong bytes or a failed call; 2: "
                                    "no GPU, after what needs none");
  gpu->add_option("--budget", gpu_arguments.options.budget, "seconds for all of it")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 3600.0));
  gpu->add_option("--only", gpu_arguments.options.only, "one section, such as B3");
  gpu->add_option("--json", gpu_arguments.json, "write the figures to this file");
  gpu->callback([&] { status = measure_gpu(gpu_arguments, folders); });
  bench->callback([&, gpu] {
    if (!gpu->parsed()) status = measure(arguments, folders);
  });
}

}  // namespace

int run(int argc, char** argv) {
  // A reader that goes away, as in `canopy plugins | head`, ends us as quietly as it ends other programs.
  std::signal(SIGPIPE, SIG_DFL);
  CLI::App program(kAbout, "canopy");
  program.require_subcommand(1);
  program.fallthrough();  // --plugins may stand anywhere
  program.set_version_flag("--version", CANOPY_VERSION);
  program.get_formatter()->column_width(34);
  int status = kFine;
  std::vector<std::string> folders;
  program.add_option("--plugins", folders, "another folder of plugins; may be repeated")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);

  DemoArguments demo_arguments;
  auto* demo_command =
      program.add_subcommand("demo", "A seeded multi-tenant workload through a small pool, and what became of it");
  demo_command->add_option("--seed", demo_arguments.seed, "another seed, another workload")
      ->capture_default_str()
      ->check(whole(1, kMost));
  demo_command->add_option("--capacity", demo_arguments.capacity, "tokens of the pool")
      ->capture_default_str()
      ->check(whole(1, kMost));
  demo_command->add_option("--store", demo_arguments.store, "keep the rows there, such as host or cuda");
  demo_command->add_option("--report", demo_arguments.report, "write the result as JSON to this file");
  demo_command->callback([&] { status = demo(demo_arguments, folders); });

  ReplayArguments replay_arguments;
  add_replay(program, replay_arguments, folders, status);

  BenchArguments bench_arguments;
  BenchGpuArguments bench_gpu_arguments;
  add_bench(program, bench_arguments, bench_gpu_arguments, folders, status);

  std::string file, name;
  std::vector<std::string> assignments;
  auto* plugins = program.add_subcommand("plugins", "What is loaded, what was refused and why");
  plugins->require_subcommand(0, 1);
  plugins->add_subcommand("list", "All of it (also without a subcommand)");
  auto* describe = plugins->add_subcommand("describe", "A component and its options");
  describe->add_option("name", name, "what a configuration calls it")->required();
  describe->callback([&] { status = describe_plugin(name, folders); });
  bool once = false;
  auto* top_command = program.add_subcommand(
      "top", "What a running engine's cache holds, every second: sizes, hit rate, hottest prefixes, next victims");
  top_command->add_option("name", name, "of the feed; not needed if there is one only");
  top_command->add_flag("--once", once, "print once and end");
  top_command->callback([&] { status = top(name, once); });

  std::string group, tokens;
  auto* pool = program.add_subcommand("pool", "The pools of a running engine, segment by segment");
  pool->require_subcommand(1);
  auto* show = pool->add_subcommand("show", "Their limits, and which segments have memory");
  show->add_option("name", name, "of the feed; not needed if there is one only");
  show->callback([&] { status = show_pools(name); });
  auto* resize = pool->add_subcommand(
      "resize",
      "Give a pool another limit while its engine runs: it grows when it needs to, and shrinks by evicting, "
      "moving, and waiting for requests");
  resize->add_option("name", name, "of the feed")->required();
  resize->add_option("group", group, "KV cache group; not needed if the engine has one only");
  resize->add_option("tokens", tokens, "what it may hold; 3M is 3000000");
  resize->callback([&] {
    if (tokens.empty()) std::swap(group, tokens);
    status = tokens.empty() ? unusable("canopy pool resize: expected NAME [GROUP] TOKENS, such as serve-3 full 3M")
                            : resize_pool(name, group, tokens);
  });

  unsigned time_limit = 60;
  auto* check = plugins->add_subcommand(
      "check",
      "Load a file, list what it offers, and run the contract suite over each component, a case in a process of its "
      "own. Exit code 0: all passed; 1: refused, or something failed; 2: this build has no contract suite.");
  check->add_option("file", file, "shared library")->required();
  check->add_option("--time-limit", time_limit, "seconds a case may take")
      ->capture_default_str()
      ->check(whole(1, 86400));
  check->callback([&] { status = check_plugin(file, time_limit); });
  auto* create = plugins->add_subcommand("new", "Write a policy of one's own to start from");
  create->add_option("name", name, "lower-case letters, digits and _")->required();
  create->callback([&] { status = new_plugin(name); });
  plugins->callback([&] {
    if (!describe->parsed() && !check->parsed() && !create->parsed()) status = list_plugins(folders);
  });

  auto* config = program.add_subcommand("config", "Read an engine description without running it");
  config->require_subcommand(1);
  auto* config_check = config->add_subcommand("check", "Say what is wrong with it");
  auto* config_dump = config->add_subcommand("dump", "Show every option with its value, as YAML");
  for (auto* command : {config_check, config_dump}) {
    command->add_option("file", file, "engine description")->required();
    command->add_option("--set", assignments, "path.to.key=value on top of it; may be repeated")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  config_check->callback([&] { status = check_config(file, assignments, folders); });
  config_dump->callback([&] { status = dump_config(file, assignments, folders); });

  std::vector<std::string> recordings;
  auto* verify = program.add_subcommand(
      "verify", "Compare the index with recorded runs of SGLang's RadixCache, operation by operation");
  verify->add_option("files", recordings, "POLICY_pageP_plain_seedS.jsonl.gz, or eagle in place of plain")->required();
  verify->callback([&] { status = verify_recordings(recordings, folders); });

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kFine : kUnusable;
  }
  return status;
}

int main(int argc, char** argv) {
  int status = kUnusable;
  try {
    status = run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("canopy: the system has no memory left for this\n", stderr);
  } catch (const std::exception& error) {
    std::fputs(("canopy: " + std::string(error.what()) + "\n").c_str(), stderr);
  }
  // Output that nobody could keep is no success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fputs("canopy: its output could not be written\n", stderr);
    return kUnusable;
  }
  return status;
}
