#pragma once

#include <canopy/config/option_walkers.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <bench/bench.h>
#include <bench/gpu/gpu_bench.h>
#include <check/campaign.h>
#include <replay/replay.h>

namespace canopy::app {

struct Terminal;

/// Exit codes, for scripts.
enum Exit : int {
  kFine = 0,
  kViolations = 1,  ///< it ran, and a check failed
  kUnusable = 2,    ///< the arguments or files cannot be used; a sentence on stderr says why
};

struct ReplayArguments {
  std::string config, trace, workload, report;
  std::string capacity, page_size, policy, store;  ///< as in the engine file
  std::string serve, record;                       ///< a feed's name, or the file of a recording; empty: none
  std::optional<std::uint64_t> seed;
  std::vector<std::string> assignments, resizes;
  replay::Options options;
};

struct BenchArguments {
  bench::Options options;
  std::string json, compare, from;
};

struct BenchGpuArguments {
  bench::gpu::Options options;
  std::string json;
};

struct CheckArguments {
  check::Options options;
  std::vector<std::string> configs;
  std::string replay;
  std::uint64_t minutes = 0;
};

struct DemoArguments {
  std::uint64_t seed = 1;
  std::uint64_t capacity = 150000;
  std::string store, report;
};

/// Folders of --plugins, searched after the program's own.
using PluginFolders = std::vector<std::string>;

int demo(const DemoArguments& arguments, const PluginFolders& folders);
int replay_trace(const ReplayArguments& arguments, const PluginFolders& folders);
/// Measures, or shows the figures of a file; with the change since another file if one is named.
int measure(const BenchArguments& arguments, const PluginFolders& folders);
/// Measures the store on a GPU. Without one: measures what needs none, then kUnusable.
int measure_gpu(const BenchGpuArguments& arguments, const PluginFolders& folders);
/// Attaches to a feed in shared memory. An empty name: the only one there is.
int top(const std::string& name, bool once);
/// Shows the pools of a running engine, segment by segment.
int show_pools(const std::string& name);
/// Sets a pool's limit in a running engine, and shows progress until it is reached. An empty group: the only one there
/// is.
int resize_pool(const std::string& name, const std::string& group, const std::string& tokens);
int list_plugins(const PluginFolders& folders);
int describe_plugin(const std::string& name, const PluginFolders& folders);
/// Loads a file, lists its components, and runs the contract suite over each. A case may take `seconds`.
int check_plugin(const std::string& file, unsigned seconds);
/// Writes a folder with the source of a policy of that name, ready to build.
int new_plugin(const std::string& name);
int check_config(const std::string& file, const std::vector<std::string>& assignments, const PluginFolders& folders);
int dump_config(const std::string& file, const std::vector<std::string>& assignments, const PluginFolders& folders);
/// Every key of an engine's file with range, default and help.
int describe_config(const PluginFolders& folders);
/// Runs engines under random requests and faults, or a program that such a run has written.
int check_engines(const CheckArguments& arguments, const PluginFolders& folders);
int verify_recordings(const std::vector<std::string>& files, const PluginFolders& folders);

/// A feed in shared memory and its mirror, in step. An empty name: the only feed there is.
struct Watched {
  std::unique_ptr<inspector::Attachment> attachment;
  inspector::Mirror mirror;
  /// Applies the events that have come. False: there were none.
  bool take();
};
Result<std::unique_ptr<Watched>> watch(const std::string& name);

/// Prints `why` on stderr and returns kUnusable.
int unusable(const std::string& why);
Registry load_plugins(const PluginFolders& folders);
void print_offers(const Registry& registry, const Terminal& terminal);
void print_refusals(const Registry& registry, const Terminal& terminal);
/// An option a line, the help aligned.
void print_options(const std::vector<OptionHelp>& options, const Terminal& terminal);
/// Prints the run as a table, its violations and the verdict. Returns the exit code.
int print_report(const replay::Report& report);
/// Runs with a progress bar, then writes the report if a path was given.
Result<replay::Report> run_with_progress(Engine& engine, workload::RequestSource& source,
                                         const replay::Options& options, const std::string& config,
                                         const std::string& source_name, const std::string& report_path);

}  // namespace canopy::app
