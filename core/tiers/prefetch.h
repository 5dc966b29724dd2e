#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/types.h>

#include <algorithm>
#include <cstdint>

#include "cost_model.h"

namespace canopy {

/// The tokens that a fetch brings for a request that could begin, and their time of arrival.
struct Awaited {
  Units depth = 0, count = 0;   ///< the tokens follow `depth` others
  std::uint64_t called_us = 0;  ///< time of the request's call
  std::uint64_t ends_us = 0;    ///< time of arrival, as far as known
  bool end_is_known = true;     ///< if false, `ends_us` is when to call again
  bool is_question = false;     ///< the storage is still looking them up; `ends_us` is the time of its answer
};

/// Decides how long a request waits for its own fetch. The same rule holds for a request that joined the fetch.
class Prefetch {
 public:
  /// REQUIRES: `costs` outlives this object.
  Prefetch(const PrefetchConfig& config, const CostModel& costs) : config_(config), costs_(costs) {}

  /// Returns the time at which the request begins, even if the fetch is not complete. `again_us`: microseconds until
  /// the next call at the earliest. Completions before then make no difference.
  std::uint64_t begins_us(const Awaited& awaited, std::uint64_t now_us, std::uint64_t again_us) const {
    const std::uint64_t longest_us = awaited.called_us + config_.longest_us;
    switch (config_.policy) {
      case PrefetchPolicy::best_effort:
        return now_us;
      case PrefetchPolicy::wait_complete:
        return awaited.ends_us;
      case PrefetchPolicy::worthwhile:
        break;
    }
    const std::uint64_t rest_us = std::max(awaited.ends_us - std::min(awaited.ends_us, now_us), again_us);
    // Most lookups find nothing: wait for an answer only if that costs little compared with the possible saving.
    constexpr std::uint64_t kQuestion = 20;
    const std::uint64_t weight = awaited.is_question ? kQuestion : 1;
    const bool waits = !awaited.end_is_known || costs_.worth(rest_us * weight, awaited.depth, awaited.count);
    return waits ? std::min(awaited.ends_us, longest_us) : now_us;
  }

  const CostModel& costs() const { return costs_; }
  /// Returns true if a fetch is abandoned when the storage takes longer than computing the same tokens.
  bool weighs() const { return config_.policy == PrefetchPolicy::worthwhile && costs_.known(); }

 private:
  PrefetchConfig config_;
  const CostModel& costs_;
};

}  // namespace canopy
