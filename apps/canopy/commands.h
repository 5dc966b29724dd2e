#pragma once

#include <account/history.h>
#include <canopy/base/option_walkers.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <replay/replay.h>
#include "program.h"

namespace canopy::app {

struct Terminal;

struct ReplayArguments {
  std::string config, trace, workload, json;
  std::string capacity, page_size, policy, index, store;  ///< as in the engine file
  std::string feed, record;                               ///< name of the feed or file of the recording; empty: none
  std::string publish, publish_replay, dialect;           ///< as in the engine file's events
  bool await = false;                                     ///< wait until a subscriber is connected
  bool stay = false;                                      ///< keep serving the replay endpoint after the run
  std::optional<std::uint64_t> seed;
  std::uint64_t kv_bytes = 0;  ///< bytes of a token in the simulated lanes of tiers; 0: as many as the stores keep
  std::uint64_t block = 0;     ///< tokens per id of the trace; 0: as the format is published
  std::vector<std::string> assignments, resizes;
  replay::Options options;
};

struct DemoArguments {
  std::uint64_t seed = 1;
  std::string capacity = "150000";  ///< as in the engine file
  std::string store, json;
};

int demo(const DemoArguments& arguments, const PluginFolders& folders);
int replay_trace(const ReplayArguments& arguments, const PluginFolders& folders);
/// Shows a feed in shared memory every second. An empty name means the only feed.
int top(const std::string& name, bool once);
/// Shows the pools of a running engine, segment by segment.
int show_pools(const std::string& name);
/// Sets a pool's limit in a running engine, GROUP=TOKENS, and shows progress until it is reached. TOKENS alone means
/// the only group.
int resize_pool(const std::string& name, const std::string& limit);
int list_plugins(const PluginFolders& folders);
int describe_plugin(const std::string& name, const PluginFolders& folders);
/// Loads a file, lists its components, and runs the contract suite over each. `seconds` is the time limit of each case.
int check_plugin(const std::string& file, unsigned seconds);
/// Writes a folder with the source of a plugin, ready to build. `words`: its kind and its name, or one of them.
int new_plugin(std::vector<std::string> words);
int check_config(const std::string& file, const std::vector<std::string>& assignments, const PluginFolders& folders);
int dump_config(const std::string& file, const std::vector<std::string>& assignments, const PluginFolders& folders);
/// Prints every key of an engine's file with range, default and help.
int describe_config(const PluginFolders& folders);

/// A feed in shared memory, its mirror, and what has happened since it was attached.
struct Watched {
  std::string name;
  std::unique_ptr<inspector::Attachment> attachment;
  inspector::Mirror mirror;
  inspector::History sums = inspector::History::of_sums(0);  ///< since it attached, of all namespaces together
  bool came = false;       ///< true once there were any events, even if they were lost
  std::uint64_t laps = 0;  ///< times that events were lost
  /// The engine overwrites what is not read in time.
  static constexpr std::chrono::milliseconds kLookEvery{20};
  /// Applies the events that have arrived, for at most that time. Returns false if there were none.
  bool take();
};
/// Returns an error message about a feed whose state did not come within `time`. `came`: there were events.
std::string no_state_of(const std::string& feed, bool came, const char* time);
/// Attaches to a feed and waits until its mirror is in step. An empty name means the only feed.
Result<std::unique_ptr<Watched>> watch(const std::string& name);

void print_offers(const Registry& registry, const Terminal& terminal);
void print_refusals(const Registry& registry, const Terminal& terminal);
/// Prints one option per line, with the help aligned.
void print_options(const std::vector<OptionHelp>& options, const Terminal& terminal);
/// A run through an engine: its description and its outputs.
struct Task {
  std::string config, source, json;  ///< names for the report; the file to write it to, or empty
  std::uint64_t engine_digest = 0;   ///< digest of the engine's configuration; 0: the title names only the source
  replay::Options options{};
  /// Called after the run. May be empty (no KV events are published).
  std::function<replay::PublishedReport()> published{};
};
/// Runs with a progress bar, ends the feed, prints (`before`, then the run as a table, its violations and the verdict)
/// and writes the report, in this order, so that a full disk loses nothing. An interrupted run prints its figures so
/// far and writes no report; a run that was refused leaves no recording. Returns the exit code. REQUIRES: an Interrupt
/// exists.
int run_task(Engine& engine, workload::RequestSource& source, const Registry& registry, const Task& task,
             const std::function<void(const replay::Report&)>& before);

}  // namespace canopy::app
