#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/types.h>

#include <algorithm>
#include <cstdint>

#include "tiers/cost_model.h"

namespace canopy {

/// What a request that could begin waits for: tokens that a fetch brings it, and when they are there.
struct Awaited {
  Units depth = 0, count = 0;  ///< the tokens begin behind `depth` others
  std::uint64_t asked_us = 0;  ///< when they were asked for
  std::uint64_t ends_us = 0;   ///< when they are there, by what is known now
  bool end_is_known = true;    ///< else `ends_us` is when to ask again
  bool is_question = false;    ///< it is not known yet whether they come; `ends_us` is when that is
};

/// How long a request waits for its fetch, and for no other one: the same rule for one that joined it.
class Prefetch {
 public:
  /// REQUIRES: `costs` outlives it.
  Prefetch(const PrefetchConfig& config, const CostModel& costs) : config_(config), costs_(costs) {}

  /// The time at which the request begins, whatever has come by then. `again_us`: it is not asked again earlier, so
  /// what ends sooner is of no use sooner.
  std::uint64_t begins_us(const Awaited& awaited, std::uint64_t now_us, std::uint64_t again_us) const {
    const std::uint64_t longest_us = awaited.asked_us + config_.max;
    switch (config_.policy) {
      case PrefetchPolicy::best_effort:
        return now_us;
      case PrefetchPolicy::wait_complete:
        return awaited.ends_us;
      case PrefetchPolicy::timeout:
        // SGLang's HiCache: a base and so much for each 1,024 tokens.
        return std::min({awaited.ends_us, longest_us,
                         awaited.asked_us + config_.base + config_.per_1k * std::uint64_t{awaited.count} / 1024});
      case PrefetchPolicy::worthwhile:
        break;
    }
    const std::uint64_t rest_us = std::max(awaited.ends_us - std::min(awaited.ends_us, now_us), again_us);
    // Most questions bring nothing: an answer is waited for if that costs little beside what it may save.
    constexpr std::uint64_t kQuestion = 20;
    const std::uint64_t weight = awaited.is_question ? kQuestion : 1;
    const bool waits = !awaited.end_is_known || costs_.worth(rest_us * weight, awaited.depth, awaited.count);
    return waits ? std::min(awaited.ends_us, longest_us) : now_us;
  }

  const CostModel& costs() const { return costs_; }
  /// Whether a fetch stops waiting for a storage that takes longer than computing what it has.
  bool weighs() const { return config_.policy == PrefetchPolicy::worthwhile && costs_.known(); }

 private:
  PrefetchConfig config_;
  const CostModel& costs_;
};

}  // namespace canopy
