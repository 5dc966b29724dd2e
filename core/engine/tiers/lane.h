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

  /// When a copy of so many bytes that began now would end, in microseconds, which are rounded up.
  std::uint64_t ends_us(std::uint64_t now_us, std::uint64_t bytes) const {
    const std::uint64_t start_us = std::max(free_at_, now_us) + config_.latency;
    if (config_.bandwidth == 0) return start_us;
    const std::uint64_t seconds = bytes / config_.bandwidth, rest = bytes % config_.bandwidth;
    // The rest is below a terabyte, the most that a lane carries a second: this does not wrap.
    return start_us + seconds * 1'000'000 + (rest * 1'000'000 + config_.bandwidth - 1) / config_.bandwidth;
  }
  /// Such a copy begins: when it ends.
  std::uint64_t begin(std::uint64_t now_us, std::uint64_t bytes) { return free_at_ = ends_us(now_us, bytes); }
  const LaneConfig& config() const { return config_; }

 private:
  LaneConfig config_;
  std::uint64_t free_at_ = 0;
};

}  // namespace canopy
