#pragma once

#include <canopy/base/random.h>

#include <cstdint>
#include <string>
#include <vector>

#include <program/history.h>
#include "trial.h"

namespace canopy::check {

/// Chooses the next operations from a seed and the state of a trial: requests as in a server, but in random order, with
/// an abort, a retraction or a fault at any step, and in between flushes, other policies and other limits.
class RandomOperations {
 public:
  struct Settings {
    std::uint32_t spaces = 1;   ///< namespaces of the requests
    std::uint32_t running = 8;  ///< most requests at once
    bool resizes = false;
    bool pins = false;
    bool policies = true;   ///< other policies for groups
    bool retention = true;  ///< requests ask for retention, if there are tenants
    bool faults = false;    ///< components fail
    bool memory = false;    ///< memory is refused
    bool forks = false;
    bool misuse = false;                          ///< calls that the engine refuses, and reports
    std::string next_index = {};                  ///< index of engines over the same storage; empty: there are none
    std::uint64_t lies_from = ~std::uint64_t{0};  ///< operations after which a component may lie
  };
  RandomOperations(std::uint64_t seed, const Registry& registry, Settings settings);

  /// Returns the next operation. Valid until the next call.
  const Operation& next(const Trial& trial);

 private:
  void begin(const Trial& trial);
  bool wait_for_fetch(const Trial& trial);
  void serve(const Trial& trial);
  void progress(const Trial& trial);
  void of(const Trial::Live& live, Verb verb, std::uint64_t count = 0);
  void now_and_then(const Trial& trial);
  void fault(const Trial& trial);
  void scarcity();
  bool rare(const Trial& trial);
  void prompt(const Trial& trial);
  const Trial::Live& any(const Trial& trial);
  void draw_group(const Trial& trial);
  Operation& again(Verb verb);

  Random random_;
  Settings settings_;
  std::vector<std::string> policies_;
  Operation operation_;
  std::uint64_t begun_ = 0;
  bool rare_next_ = false;          ///< the next operation is a rare one, since memory will be refused in it
  program::History history_;        ///< requests that finished
  std::vector<Operation> fetched_;  ///< fetches for requests that have not begun
};

/// A trial with random operations, for tests that need a used engine.
class RandomRequests {
 public:
  RandomRequests(Engine& engine, const Registry& registry, std::uint64_t seed, std::uint32_t spaces,
                 bool inserts_at_finish = true, bool resizes = false)
      : trial_(engine, registry, nullptr, inserts_at_finish),
        operations_(seed, registry, {.spaces = spaces, .resizes = resizes}) {}

  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) trial_.apply(operations_.next(trial_));
  }
  void finish() { trial_.finish(); }
  const Reached& reached() const { return trial_.reached(); }

 private:
  Trial trial_;
  RandomOperations operations_;
};

}  // namespace canopy::check
