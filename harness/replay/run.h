#pragma once

#include <chrono>
#include <optional>

#include "content.h"
#include "replay.h"

namespace canopy::replay {

/// State that both modes share while they run.
class Run {
 public:
  Run(Engine& engine, workload::RequestSource& source, const Options& options, const Progress& progress);

  /// The next request, until the source or the limit ends, or the run is stopped.
  Result<bool> next(workload::ClientRequest& client);
  /// Waits while an inspector has paused the engine. False if the run was stopped.
  bool may_go_on();
  /// Counts a request of which `matched` tokens were resident, and reports progress.
  void count(const workload::ClientRequest& client, std::uint32_t matched);

  /// Where there is a tier below the pools: begins to bring what it has for a request.
  Fetch fetch(const RequestSpec& spec) { return engine.host_tier() ? engine.fetch(spec) : Fetch(); }
  /// Engine::turn. While a storage works in real time, simulated time passes no faster.
  void turn(std::uint64_t now_us);
  /// Simulated time that a request waited for its fetch.
  void waited(std::uint64_t us) { waited_us_ += us; }
  void report_tier();

  Engine& engine;
  const Options& options;
  std::optional<Content> content;
  Report report;

 private:
  bool stopped();

  workload::RequestSource& source_;
  const Progress& progress_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::uint64_t waited_us_ = 0, now_us_ = 0;
  std::uint64_t taken_ = 0, sample_every_ = 1;
};

Result<std::monostate> run_timed(Run& run);

}  // namespace canopy::replay
