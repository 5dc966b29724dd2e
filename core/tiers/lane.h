#pragma once

#include <canopy/engine/engine_config.h>

#include <algorithm>
#include <cstdint>

namespace canopy {

/// Computes when copies between two tiers end. A lane carries one copy after the other: they end in the order in which
/// they began, so one number is enough state. Time is that of Engine::turn; no clock is read.
class Lane {
 public:
  explicit Lane(LaneConfig config) : config_(config) {}

  /// Returns the time, rounded up to microseconds, at which a copy of `bytes` that began now would end.
  std::uint64_t ends_us(std::uint64_t now_us, std::uint64_t bytes) const {
    const std::uint64_t start_us = std::max(free_at_, now_us) + config_.latency;
    if (config_.bandwidth == 0) return start_us;
    const std::uint64_t seconds = bytes / config_.bandwidth, rest = bytes % config_.bandwidth;
    // The rest is below a terabyte, the most that a lane carries per second: this does not wrap.
    return start_us + seconds * 1'000'000 + (rest * 1'000'000 + config_.bandwidth - 1) / config_.bandwidth;
  }
  /// Starts a copy of `bytes` and returns its completion time.
  std::uint64_t begin(std::uint64_t now_us, std::uint64_t bytes) { return free_at_ = ends_us(now_us, bytes); }
  const LaneConfig& config() const { return config_; }

 private:
  LaneConfig config_;
  std::uint64_t free_at_ = 0;
};

}  // namespace canopy
