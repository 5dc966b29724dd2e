#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/loading/registry.h>

#include <canopy/eviction_strategy.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comparison.h"
#include "trace.h"

namespace canopy::lab {

/// What a row of a comparison comes from.
enum class Kind {
  engine,       ///< an engine replays the trace under a policy
  optimum,      ///< the most that any policy could reach (optimum.h)
  lru_trimmed,  ///< LRU that trims leaves unit by unit (stack.h)
  infinite,     ///< a cache without a limit
};
/// The kind that a name of `--policies` means; Kind::engine for every other name.
Kind kind_of(std::string_view name);
/// The names of the kinds that no engine runs.
std::vector<std::string> computed_names();

struct Contender {
  std::string name;
  Kind kind = Kind::engine;
  EngineConfig engine{};  ///< of Kind::engine, its policy set; the first group's capacity is set for each run
  /// Makes the policy of each run, in place of the engine's: one that no plugin has. Called by the thread that runs it.
  std::function<std::shared_ptr<EvictionStrategy>()> policy = {};
};

struct CompareOptions {
  std::vector<Contender> contenders;
  std::vector<std::uint64_t> capacities;  ///< tokens, each at least a unit
  std::uint64_t warm_up = 0;
  double flop_depth = 8192;
  unsigned jobs = 1;                   ///< runs at once
  std::function<bool()> stopped = {};  ///< asked often, by each thread; true ends the work
  /// Called in each thread that runs engines, before it does; what it returns lives until that thread's work is done.
  std::function<std::shared_ptr<void>()> watch = {};
};

/// Why the optimum, lru_trimmed, the infinite cache and shares of the optimum do not exist for an engine, as a clause;
/// empty: they do. They are those of one group that keeps whole paths.
std::string why_no_bound(const EngineConfig& engine);

/// Runs every contender at every capacity over a trace, `jobs` at once, each serial as in `canopy replay`. Rows, and
/// every figure but the seconds, are the same for any number of jobs. What the caller knows (config, source, command,
/// names of capacities) it adds itself. An error is the first engine's that could not be made.
Result<Comparison> compare(const Trace& trace, const Registry& registry, const CompareOptions& options,
                           const Progress& progress);

}  // namespace canopy::lab
