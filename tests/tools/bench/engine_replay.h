#pragma once

#include <canopy/engine/engine.h>

#include <functional>
#include <memory>
#include <string>

#include <replay/replay.h>
#include "cases.h"

namespace canopy::bench {

/// The result of a replay through a whole engine: page 16, LRU, ledger on, no store, so no content checks.
struct EngineReplay {
  std::unique_ptr<Engine> engine;  ///< the engine after the replay
  replay::Report report;
  double seconds = 0;  ///< seconds without making the prompts, which is not an engine's work
  /// CPU seconds of the thread that runs the engine, with the audit at the end, which `seconds` does not contain.
  double cpu_seconds = 0;
  std::string source;
};

/// Runs the trace, or the generated workload, once. `feed` is the value of `feed:` in an engine file. `begin` is called
/// with the engine before its first request. `listener`: Engine::create. Returns an error if the ledger found a
/// violation.
Result<EngineReplay> replay_engine(const Setting& setting, const std::string& feed,
                                   const std::function<Result<std::monostate>(Engine&)>& begin = {},
                                   TreeListener* listener = nullptr);

}  // namespace canopy::bench
