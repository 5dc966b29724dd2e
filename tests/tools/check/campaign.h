#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>
#include <canopy/engine/engine_config.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "draw.h"
#include "program.h"
#include "reached.h"

namespace canopy::check {

struct Options {
  std::vector<EngineConfig> engines = {};  ///< empty: engines are drawn from the seed
  std::uint64_t seed = 1;
  std::uint64_t operations = 0;        ///< 0: until the time is over
  double seconds = 0;                  ///< 0: until the operations are done
  unsigned jobs = 1;                   ///< processes
  double shrink_seconds = 60;          ///< seconds to shrink a failure
  bool goes_on = false;                ///< after a failure; each kind of failure is reported once
  std::function<bool()> stopped = {};  ///< called several times a second; true: end now
};

struct Failure {
  std::uint64_t episode = 0, operations = 0;  ///< episode and operations of the program that was found
  Verdict found;                              ///< verdict of the program that was found
  std::uint64_t count = 1;                    ///< episodes that failed like it
  double seconds = 0;                         ///< from the start until it was found
  bool repeats = true;                        ///< false: the same operations were clean in a second run
  Program program;                            ///< the shrunk program
  Verdict verdict;                            ///< verdict of the shrunk program
};

struct Summary {
  Reached reached;  ///< its digest does not depend on `jobs`
  std::uint64_t episodes = 0;
  double seconds = 0;
  bool stopped = false;
  /// The failure of the earliest episode that fails; with Options::goes_on the earliest of each kind.
  std::vector<Failure> failures;
  std::optional<Draw> draw;  ///< drawn settings; nothing if the engines were given
};

/// Returns the draw of a seed.
Draw draw_of(std::uint64_t seed, const Registry& registry);

/// Runs episodes, each with its own engine, in `jobs` processes. The same seed, operations and engines give the same
/// episodes. Returns an error if an engine cannot be made. REQUIRES: this process has one thread; `registry` has what
/// add_faulty() adds. Calls `progress(share, operations)` several times a second.
Result<Summary> run(const Options& options, const Registry& registry,
                    const std::function<void(double, std::uint64_t)>& progress);

}  // namespace canopy::check
