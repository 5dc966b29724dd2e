#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include <workload/arrival_order.h>
#include "content.h"
#include "replay.h"

namespace canopy::replay {

/// State shared by both modes during a run.
class Run {
 public:
  Run(Engine& engine, workload::RequestSource& source, const Options& options, const Progress& progress);

  /// Reads the next request. Returns false at the end of the source, at the limit, or if the run is stopped.
  Result<bool> next(workload::ClientRequest& client);
  /// Waits while an inspector has paused the engine. Returns false if the run was stopped.
  bool may_go_on();
  /// Counts a request that reuses `matched` tokens, and reports progress.
  void count(const workload::ClientRequest& client, std::uint32_t matched);
  /// Counts a request that does not fit.
  void reject(const workload::ClientRequest& client) {
    ++report.rejected;
    count(client, 0);
  }

  /// Begins a request with what was fetched for it.
  Request begin(const RequestSpec& spec, Fetch fetch) {
    brought_before_ = brought();
    return engine.begin(spec, std::move(fetch));
  }
  /// Takes off the report what the tiers below brought for the latest call of begin(): the request has no room.
  void take_back();

  /// Calls Engine::turn. While a storage works in real time, simulated time is no faster.
  void turn(std::uint64_t now_us);
  /// Adds a request's fetch: it took `load_us` of simulated time; for `wait_us` of it the request could have started.
  void loaded(std::uint64_t load_us, std::uint64_t wait_us) {
    if (load_us == 0) return;
    waited_us_ += wait_us;
    load_us_ += load_us;
  }
  /// Compares a fetch with computing: the prompt of a request that waited for its fetch is computed `fetched_us` after
  /// it could have begun, and would have been after `alone_us` without the fetch. Both are 0 if the engine does not
  /// know the time of computing.
  void weighed(std::uint64_t fetched_us, std::uint64_t alone_us) {
    constexpr std::uint64_t kMore = 20;  // a twentieth
    if (alone_us == 0) return;
    later_ += fetched_us > alone_us + alone_us / kMore;
    latest_us_ = std::max(latest_us_, fetched_us - std::min(fetched_us, alone_us));
  }
  /// Adds time during which nothing else was done while waiting for a fetch.
  void idled(std::uint64_t us) { idle_us_ += us; }
  /// Returns the tokens of the first pool.
  std::uint64_t capacity() const {
    const std::uint64_t pages = engine.pool(0).limit();
    return pages == kUnlimited ? kUnlimited : pages * engine.page_size();
  }
  void report_tier();
  const workload::ArrivalOrder& arrivals() const { return arrivals_; }

  Engine& engine;
  const Options& options;
  std::optional<Content> content;
  Report report;

 private:
  /// Counters of hits in the tiers below, and of the time that these save.
  static constexpr std::array kBrought = {Counter::hit_tokens_host, Counter::hit_tokens_storage,
                                          Counter::fetch_saved_us};
  using Brought = std::array<std::uint64_t, kBrought.size()>;
  Brought brought() const;
  bool stopped();

  workload::ArrivalOrder arrivals_;
  workload::RequestSource& source_;
  const Progress& progress_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::uint64_t waited_us_ = 0, load_us_ = 0, idle_us_ = 0, now_us_ = 0;
  std::uint64_t later_ = 0, latest_us_ = 0;
  std::uint64_t taken_ = 0, sample_every_ = 1;
  Brought brought_before_{}, taken_back_{};  ///< before the latest call of begin(); by take_back()
};

Result<std::monostate> run_timed(Run& run);

}  // namespace canopy::replay
