#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>
#include <canopy/engine/engine_config.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "program.h"

namespace canopy::check {

/// Operations that one engine lives for at most.
inline constexpr std::uint64_t kEpisode = 8192;

struct Options {
  std::vector<EngineConfig> engines = {};  ///< none: engines that the seed makes up
  std::uint64_t seed = 1;
  std::uint64_t operations = 0;        ///< 0: until the time is over
  double seconds = 0;                  ///< 0: until the operations are done
  unsigned jobs = 1;                   ///< processes
  double shrink_seconds = 60;          ///< for a failure
  std::function<bool()> stopped = {};  ///< asked some times a second: whether to end now
};

struct Failure {
  std::uint64_t episode = 0, operations = 0;  ///< of the program that was found
  Verdict found;                              ///< as it was found
  bool repeats = true;                        ///< false: the same operations were clean when they were run again
  Program program;                            ///< the shrunk one
  Verdict verdict;                            ///< the shrunk one's
};

struct Summary {
  Reached reached;  ///< its digest does not depend on `jobs`
  std::uint64_t episodes = 0;
  double seconds = 0;
  bool stopped = false;
  std::optional<Failure> failure;  ///< of the earliest episode that fails
};

/// Runs episodes, each with an engine of its own, in so many processes. The same seed, operations and engines give the
/// same episodes. The error: an engine that cannot be made. REQUIRES: this process has one thread; `registry` has what
/// add_faulty() adds. `progress(share, operations)` is called some times a second.
Result<Summary> run(const Options& options, const Registry& registry,
                    const std::function<void(double, std::uint64_t)>& progress);

}  // namespace canopy::check
