#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <vector>

#include <workload/trace_formats.h>
#include "cli_options.h"
#include "commands.h"
#include "events_command.h"
#include "export_command.h"
#include "inspect_command.h"
#include "lab_commands.h"
#include "serve_command.h"
#include "timed_options.h"
#include "trace_command.h"

namespace {

using namespace canopy;
using namespace canopy::app;

using Folders = PluginFolders;

void add_demo(CLI::App& program, const Folders& folders, int& status) {
  auto arguments = std::make_shared<DemoArguments>();
  auto* demo_command = program.add_subcommand("demo", "Run a seeded workload of several tenants through a small pool");
  demo_command->group("Try");
  demo_command->add_option("--seed", arguments->seed, "seed of the workload")
      ->capture_default_str()
      ->check(whole(1, kMost));
  demo_command->add_option("--capacity", arguments->capacity, "limit of the pool, in tokens; 3M is 3000000")
      ->capture_default_str();
  demo_command->add_option("--store", arguments->store, "keep the rows in this store, such as host or cuda");
  demo_command->add_option("--json", arguments->json, "write the result as JSON to this file");
  demo_command->callback([=, &folders, &status] { status = demo(*arguments, folders); });
}

void add_replay(CLI::App& program, const Folders& folders, int& status) {
  auto arguments = std::make_shared<ReplayArguments>();
  auto* replay = program.add_subcommand("replay", "Run a trace or a generated workload through an engine");
  replay->group("Try");
  replay->add_option("config", arguments->config, "engine file, such as configs/engines/sglang_lru.yaml")->required();
  auto* trace = replay->add_option("--trace", arguments->trace, workload::trace_help());
  block_size(*replay, arguments->block)->needs(trace);
  auto* workload =
      replay->add_option("--workload", arguments->workload, "workload file, such as configs/workloads/chat.yaml")
          ->excludes(trace);
  replay->add_option("--capacity", arguments->capacity, "limit of the first group's pool, in tokens; 3M is 3000000");
  replay->add_option("--policy", arguments->policy, "eviction policy of every group");
  replay->add_option("--index", arguments->index,
                     "prefix index: radix, hash_chain (vLLM's block table) or null (keeps nothing)");
  replay->add_option("--store", arguments->store,
                     "keep the rows in this store, such as host or cuda; none: page numbers only");
  replay->add_option("--page-size", arguments->page_size, "tokens in a page");
  replay
      ->add_option("--kv-bytes", arguments->kv_bytes,
                   "bytes of a token in the simulated lanes of tiers; 0: as many as the stores keep")
      ->check(whole(0, std::uint64_t{1} << 30));
  replay->add_option("--limit", arguments->options.limit, "stop after this many requests")->check(whole(0, kMost));
  repeated(replay->add_option("--set", arguments->assignments,
                              "path.to.key=value: overrides a key of the engine file; may be repeated"));
  replay->add_option("--seed", arguments->seed, "seed of the workload, instead of the one in its file")
      ->check(whole(1, kMost))
      ->needs(workload);
  repeated(replay->add_option(
      "--resize", arguments->resizes,
      "REQUEST:TOKENS or REQUEST:GROUP:TOKENS: sets a pool's limit before that request; may be repeated"));
  auto* feed = replay->add_option("--feed", arguments->feed,
                                  "publish the feed under this name, for canopy-inspector and canopy top");
  replay
      ->add_option("--record", arguments->record,
                   "record the feed to this file (FILE.part until the run ends); only a recording is replaced")
      ->excludes(feed);
  auto* publish = replay->add_option("--publish", arguments->publish,
                                     "publish KV events at this endpoint, such as tcp://127.0.0.1:5557 or ipc://PATH");
  auto* publish_replay = replay
                             ->add_option("--publish-replay", arguments->publish_replay,
                                          "send past events again on request at this endpoint")
                             ->needs(publish);
  replay->add_option("--dialect", arguments->dialect, "encoding of the events: maps or arrays")->needs(publish);
  replay->add_flag("--await", arguments->await, "wait until a subscriber is connected")->needs(publish);
  replay->add_flag("--stay", arguments->stay, "after the run, keep serving --publish-replay until Ctrl-C")
      ->needs(publish_replay);
  replay->add_option("--pace", arguments->options.pace, "maximum requests per second, to watch the run")
      ->check(whole(1, kMost));
  replay->add_option("--json", arguments->json, "write the result as JSON to this file");
  auto* uncached =
      replay
          ->add_option("--min-uncached", arguments->options.min_uncached,
                       "minimum prompt tokens that each request computes, with --mode serial; 1 in servers, and with "
                       "--mode timed")
          ->check(whole(0, 100000))
          ->capture_default_str();
  replay->add_flag("!--no-content", arguments->options.content, "do not write and compare the bytes of reused tokens");
  const auto timed = add_mode(*replay, arguments->options);
  replay->callback([=, &folders, &status] {
    if (const std::string flaw = flaw_of_mode(arguments->options, timed); !flaw.empty()) {
      status = unusable(flaw);
      return;
    }
    if (arguments->options.mode == replay::Mode::timed && uncached->count() > 0) {
      status = unusable("--min-uncached needs --mode serial: in a server it is 1");
      return;
    }
    status = replay_trace(*arguments, folders);
  });
}

CLI::App* add_plugins_check(CLI::App& plugins, int& status) {
  auto file = std::make_shared<std::string>();
  auto time_limit = std::make_shared<unsigned>(60);
  auto* check = plugins.add_subcommand(
      "check",
      "Load a file, list its components, and run the contract suite over each, every case in its own process. Exit "
      "code 0: all passed; 1: the file was refused or a case failed; 2: this build has no contract suite");
  check->add_option("file", *file, "shared library")->required();
  check->add_option("--time-limit", *time_limit, "time limit of each case, in seconds")
      ->capture_default_str()
      ->check(whole(1, 86400));
  check->callback([=, &status] { status = check_plugin(*file, *time_limit); });
  return check;
}

void add_plugins(CLI::App& program, const Folders& folders, int& status) {
  auto name = std::make_shared<std::string>();
  auto* plugins = program.add_subcommand("plugins", "List, describe and check plugins, and begin a new one");
  plugins->group("Compose");
  plugins->require_subcommand(0, 1);
  plugins->add_subcommand("list", "List plugins, and which were refused and why; the same as no subcommand");
  auto* describe = plugins->add_subcommand("describe", "Show a component and its options");
  describe->add_option("name", *name, "its name in an engine file")->required();
  describe->callback([=, &folders, &status] { status = describe_plugin(*name, folders); });
  auto* check = add_plugins_check(*plugins, status);
  auto words = std::make_shared<std::vector<std::string>>();
  auto* create = plugins->add_subcommand("new", "Write the source of a new plugin, ready to build");
  create
      ->add_option("words", *words,
                   "KIND: policy, allocator, index, codec, store or storage; NAME: lower-case letters, digits and _; one "
                   "of them is enough")
      ->required()
      ->expected(1, 2)
      ->option_text("KIND NAME");
  create->callback([=, &status] { status = new_plugin(*words); });
  plugins->callback([=, &folders, &status] {
    if (!describe->parsed() && !check->parsed() && !create->parsed()) status = list_plugins(folders);
  });
}

void add_top(CLI::App& program, int& status) {
  struct Arguments {
    std::string feed, limit;
    bool once = false, pools = false;
  };
  auto arguments = std::make_shared<Arguments>();
  auto* command = program.add_subcommand("top", "Watch a running engine, show its pools, set a pool's limit");
  command->group("Look");
  command->footer(
      "Without an option, shows every second: sizes, hit rate, hottest prefixes, next nodes to evict. Requests, hits "
      "and evictions are counted since it attached, lately since the last screen; - is not known. A higher limit lets "
      "a pool grow on demand; a lower one evicts, relocates pages and waits for requests.");
  command->add_option("--feed", arguments->feed, "name of the feed; not needed if there is only one");
  auto* once = command->add_flag("--once", arguments->once, "follow the feed for a second, print once and exit");
  auto* pools = command
                    ->add_flag("--pools", arguments->pools,
                               "print the limits of the pools, and which segments have memory, and exit")
                    ->excludes(once);
  command
      ->add_option("--resize", arguments->limit,
                   "GROUP=TOKENS: sets a pool's limit, such as full=3M, and exits when it is reached; TOKENS if the "
                   "engine has one group")
      ->excludes(once)
      ->excludes(pools);
  command->callback([=, &status] {
    if (!arguments->limit.empty()) status = resize_pool(arguments->feed, arguments->limit);
    else status = arguments->pools ? show_pools(arguments->feed) : top(arguments->feed, arguments->once);
  });
}

void add_config(CLI::App& program, const Folders& folders, int& status) {
  auto file = std::make_shared<std::string>();
  auto assignments = std::make_shared<std::vector<std::string>>();
  auto* config = program.add_subcommand("config", "Check, show and describe engine and workload files");
  config->group("Compose");
  config->require_subcommand(1);
  auto* check =
      config->add_subcommand("check", "Report errors in the file, and settings that would need too much memory");
  auto* dump = config->add_subcommand("dump", "Show every option with its value, as YAML");
  for (auto* command : {check, dump}) {
    command->add_option("file", *file, command == check ? "engine or workload file" : "engine file")->required();
    repeated(command->add_option("--set", *assignments, "path.to.key=value: overrides a key; may be repeated"));
  }
  check->callback([=, &folders, &status] { status = check_config(*file, *assignments, folders); });
  dump->callback([=, &folders, &status] { status = dump_config(*file, *assignments, folders); });
  config->add_subcommand("describe", "List all keys of an engine file, with range and default")
      ->callback([&folders, &status] { status = describe_config(folders); });
}

void add_commands(CLI::App& program, const Folders& folders, int& status) {
  add_demo(program, folders, status);
  add_replay(program, folders, status);
  add_compare(program, folders, status);
  add_trace(program, status);
  add_top(program, status);
#ifdef CANOPY_METRICS
  add_export(program, status);
#endif
  add_serve(program, status);
  add_inspect(program, status);
  add_events(program, status);
  add_config(program, folders, status);
  add_plugins(program, folders, status);
}

}  // namespace

int main(int argc, char** argv) {
  return canopy::app::run_program(argc, argv,
                                  {"canopy", "prefix reuse of KV caches in LLM serving", add_commands});
}
