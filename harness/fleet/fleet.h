#pragma once

#include <canopy/scheduling/routing.h>
#include <canopy/support/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <workload/request_source.h>
#include "load.h"

namespace canopy::fleet {

/// The caches of several workers, as a router can ask them.
class Caches {
 public:
  virtual ~Caches() = default;
  virtual std::size_t workers() const = 0;
  virtual std::uint32_t block_tokens() const = 0;
  /// Fills overlap and tree_blocks of each worker, and changes nothing.
  virtual void look(const workload::ClientRequest& client, std::vector<scheduling::RouteWorker>& workers) = 0;
  /// A worker serves a request. How many of its tokens were resident; nothing: it cannot run there.
  virtual std::optional<std::uint32_t> serve(std::size_t worker, const workload::ClientRequest& client) = 0;
  /// Violations and what else must be said, at the end.
  virtual std::uint64_t violations() const { return 0; }
  virtual std::vector<std::string> reports() const { return {}; }
};

struct Options {
  scheduling::RouteRules rules;
  Speed speed;
  std::uint64_t seed = 1;
  std::uint64_t limit = ~std::uint64_t{0};  ///< requests
  bool (*stopped)() = nullptr;              ///< asked before each request; true ends the run
};

/// What one worker got.
struct WorkerReport {
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t computed_tokens() const { return prompt_tokens - hit_tokens; }
};

struct Report {
  scheduling::Route route{};
  bool incomplete = false;  ///< it was stopped
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0, rejected = 0;
  std::vector<WorkerReport> workers;
  /// Simulated time from a request's arrival to its first token. p95: 95 % had it no later.
  double mean_wait_ms = 0, p95_wait_ms = 0;
  std::uint64_t violations = 0;
  std::vector<std::string> reports;

  double hit_rate() const {
    return prompt_tokens ? static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
  /// Tokens that the busiest worker computes, over the mean: 1 is even.
  double imbalance() const;
};

using Progress = std::function<void(double share, std::uint64_t requests)>;

/// Sends every request of the source to the worker that the rules choose, one after the other in the order of their
/// arrival.
Result<Report> run(Caches& caches, workload::RequestSource& source, const Options& options, const Progress& progress);

/// Of one run of `canopy route`, all formulas.
struct Comparison {
  std::string source, config, command;  ///< config: empty where streams were read
  std::vector<std::string> streams;
  Speed speed;
  std::uint64_t seed = 1;
  std::uint32_t block_tokens = 1;
  std::vector<Report> reports;
};

/// Writes JSON (docs/routing.md has the fields), all of it or nothing.
Result<std::monostate> write_comparison(const Comparison& comparison, const std::string& path);

}  // namespace canopy::fleet
