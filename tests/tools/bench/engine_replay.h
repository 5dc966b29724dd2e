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
  std::unique_ptr<Engine> engine;  ///< as the replay left it
  replay::Report report;
  double seconds = 0;  ///< without making the prompts, which an engine does not do
  /// Of the thread that runs the engine. It contains the audit at the end, which `seconds` does not.
  double cpu_seconds = 0;
  std::string source;
};

/// Runs the trace, or the generated workload, once. `feed` is the value of `feed:` in an engine file. `begin` is called
/// with the engine before its first request. `listener`: Engine::create. An error if the ledger found a violation.
Result<EngineReplay> replay_engine(const Setting& setting, const std::string& feed,
                                   const std::function<Result<std::monostate>(Engine&)>& begin = {},
                                   TreeListener* listener = nullptr);

}  // namespace canopy::bench
