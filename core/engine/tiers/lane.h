#pragma once

#include <canopy/engine/engine_config.h>

#include <algorithm>
#include <cstdint>

namespace canopy {

/// When copies between two tiers end. A lane carries one copy after the other: they end in the order in which they
/// began, so "how far" is one number. Time is what Engine::turn is told, and no clock is read.
class Lane {
 public:
  explicit Lane(LaneConfig config) : config_(config) {}

  /// A copy of so many bytes begins: when it ends, in microseconds. Microseconds are rounded up.
  std::uint64_t begin(std::uint64_t now_us, std::uint64_t bytes) {
    free_at_ = std::max(free_at_, now_us) + config_.latency;
    if (config_.bandwidth > 0) {
      const std::uint64_t seconds = bytes / config_.bandwidth, rest = bytes % config_.bandwidth;
      // The rest is below a terabyte, the most that a lane carries a second: this does not wrap.
      free_at_ += seconds * 1'000'000 + (rest * 1'000'000 + config_.bandwidth - 1) / config_.bandwidth;
    }
    return free_at_;
  }

 private:
  LaneConfig config_;
  std::uint64_t free_at_ = 0;
};

}  // namespace canopy
