#pragma once

#include <canopy/engine/engine.h>

#include <functional>
#include <memory>
#include <string>

#include "cases.h"
#include <replay/replay.h>

namespace canopy::bench {

/// What a replay through a whole engine came to: page 16, LRU, ledger on, no store, so no content checks.
struct EngineReplay {
  std::unique_ptr<Engine> engine;  ///< as the replay left it
  replay::Report report;
  double seconds = 0;  ///< without making the prompts, which is no part of an engine
  /// Of the thread that runs the engine; the audit at the replay's end, which `seconds` leaves out, is in it.
  double cpu_seconds = 0;
  std::string source;
};

/// Once through the trace, or the workload in its place. `feed` is what an engine's file says under `feed:`; `begin`
/// is called with the engine before its first request. An error if the books were broken.
Result<EngineReplay> replay_engine(const Setting& setting, const std::string& feed,
                                   const std::function<Result<std::monostate>(Engine&)>& begin = {});

}  // namespace canopy::bench
