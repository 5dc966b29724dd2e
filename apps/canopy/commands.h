#pragma once

#include <canopy/base/option_walkers.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>

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
  std::string config, trace, workload, report;
  std::string capacity, page_size, policy, index, store;  ///< as in the engine file
  std::string serve, record;                              ///< a feed's name, or the file of a recording; empty: none
  std::string publish, publish_replay, dialect;           ///< as in the engine file's events
  bool await = false;                                     ///< begin when a subscriber has come
  bool stay = false;                                      ///< answer the replay endpoint after the run
  std::optional<std::uint64_t> seed;
  std::uint64_t kv_bytes = 0;  ///< bytes of a token in the simulated lanes of tiers; 0: as many as the stores keep
  std::uint64_t block = 0;     ///< tokens that an id of the trace stands for; 0: as its format is published
  std::vector<std::string> assignments, resizes;
  replay::Options options;
};

struct DemoArguments {
  std::uint64_t seed = 1;
  std::uint64_t capacity = 150000;
  std::string store, report;
};

int demo(const DemoArguments& arguments, const PluginFolders& folders);
int replay_trace(const ReplayArguments& arguments, const PluginFolders& folders);
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

/// A feed in shared memory and its mirror, in step. An empty name: the only feed there is.
struct Watched {
  std::unique_ptr<inspector::Attachment> attachment;
  inspector::Mirror mirror;
  /// Applies the events that have come. False: there were none.
  bool take();
};
Result<std::unique_ptr<Watched>> watch(const std::string& name);

void print_offers(const Registry& registry, const Terminal& terminal);
void print_refusals(const Registry& registry, const Terminal& terminal);
/// An option a line, the help aligned.
void print_options(const std::vector<OptionHelp>& options, const Terminal& terminal);
/// A run through an engine: as a command describes it, and what it writes.
struct Task {
  std::string config, source, report;  ///< names for the report; the file to write it to, or empty
  std::uint64_t engine_digest = 0;     ///< of the engine's configuration; 0: the printed title names only the source
  replay::Options options{};
  /// Asked after the run; empty: no KV events are published.
  std::function<replay::PublishedReport()> published{};
};
/// Runs with a progress bar, ends the feed, prints (`before`, then the run as a table, its violations and the verdict)
/// and writes the report: in this order, so that a full disk loses nothing. A run that was interrupted is printed so
/// far as it came, and writes no report; a run that was refused leaves no recording. Returns the exit code. REQUIRES:
/// an Interrupt lives.
int run_task(Engine& engine, workload::RequestSource& source, const Registry& registry, const Task& task,
             const std::function<void(const replay::Report&)>& before);

}  // namespace canopy::app
