#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine_config.h>

#include <canopy/eviction_strategy.h>
#include <replay/replay.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comparison.h"
#include "trace.h"

namespace canopy::lab {

/// The origin of a row of a comparison.
enum class Kind {
  engine,       ///< an engine replays the trace under a policy
  optimum,      ///< the most that any policy could reach (optimum.h)
  lru_trimmed,  ///< LRU that trims leaves unit by unit (stack.h)
  infinite,     ///< a cache without a limit
};
/// Returns the kind for a name of `--policy`; Kind::engine for every other name.
Kind kind_of(std::string_view name);
/// Returns the names of the kinds that run no engine.
std::vector<std::string> computed_names();

struct Contender {
  std::string name;
  Kind kind = Kind::engine;
  EngineConfig engine{};  ///< for Kind::engine, with its policy set; the first group's capacity is set for each run
  /// Makes a policy for each run that replaces the engine's, for policies that are in no plugin. Called by the run's
  /// thread.
  std::function<std::shared_ptr<EvictionStrategy>()> policy = {};
};

struct CompareOptions {
  std::vector<Contender> contenders;
  std::vector<std::uint64_t> capacities;  ///< tokens, each at least a unit
  std::uint64_t warm_up = 0;
  double flop_depth = 8192;
  RecomputeConfig recompute{};         ///< time to compute a part of a prompt, for the rows' prefill_seconds
  replay::Options run{};               ///< mode of the runs, and the options of Mode::timed
  unsigned jobs = 1;                   ///< concurrent runs
  bool keep_requests = false;          ///< true: rows keep the hit tokens of each request
  std::function<bool()> stopped = {};  ///< called often, by each thread; true ends the work
  /// Called in each thread before it runs engines. The result is kept until the thread's work is done.
  std::function<std::shared_ptr<void>()> watch = {};
};

/// Returns, as a clause, why the optimum, lru_trimmed, the infinite cache and shares of the optimum do not exist for an
/// engine; empty if they do. They exist for one group that keeps whole paths.
std::string why_no_bound(const EngineConfig& engine);

/// Runs every contender at every capacity over a trace, `jobs` at once, each as in `canopy replay`. Rows, and
/// all figures except seconds, are the same for any number of jobs. The caller adds what it knows (config, source,
/// command, names of capacities). Returns the error of the first engine that could not be made.
Result<Comparison> compare(const Trace& trace, const Registry& registry, const CompareOptions& options,
                           const Progress& progress);

}  // namespace canopy::lab
