#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/types.h>

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
    const std::uint64_t start_us = std::max(free_at_, now_us) + config_.latency_us;
    if (config_.bytes_per_s == 0) return start_us;
    const std::uint64_t seconds = bytes / config_.bytes_per_s, rest = bytes % config_.bytes_per_s;
    // The rest is below a terabyte, the most that a lane carries per second: this does not wrap.
    return start_us + seconds * 1'000'000 + (rest * 1'000'000 + config_.bytes_per_s - 1) / config_.bytes_per_s;
  }
  /// Starts a copy of `bytes` and returns its completion time.
  std::uint64_t begin(std::uint64_t now_us, std::uint64_t bytes) { return free_at_ = ends_us(now_us, bytes); }
  const LaneConfig& config() const { return config_; }

 private:
  LaneConfig config_;
  std::uint64_t free_at_ = 0;
};

/// Decides whether a fetch is faster than computing the same tokens. It uses only integer arithmetic over the
/// configuration and the time of Engine::turn, so that every machine and every rank decides alike.
///
/// A fetch of n tokens after d others takes load(n) = earlier work of the lane + latency + bytes / bandwidth. Computing
/// them takes recompute(d, n) = ns_per_token n + ps_per_token_depth n (d + n / 2). The saving grows faster than n. So
/// it is best to fetch either everything that a tier has or nothing; a shorter part is never the best one.
class CostModel {
 public:
  explicit CostModel(const RecomputeConfig& config) : config_(config) {}

  /// Returns true if the configuration gives the time to compute. If not, every fetch is worthwhile.
  bool known() const { return config_.known(); }
  /// Returns the microseconds to compute `count` tokens after `depth` others; 0 if unknown.
  std::uint64_t recompute_us(Units depth, Units count) const { return config_.us(depth, count); }
  /// Returns true if fetching them in `load_us` microseconds is worthwhile.
  bool worth(std::uint64_t load_us, Units depth, Units count) const {
    return !known() || load_us < allowed_us(depth, count);
  }
  /// Returns the most microseconds that their fetch may take; kUnlimited if the time to compute is unknown.
  std::uint64_t allowed_us(Units depth, Units count) const { return known() ? recompute_us(depth, count) : kUnlimited; }

 private:
  RecomputeConfig config_;
};

/// Moving average (weight 1/8) of a storage's read time per byte, in real time.
class SeenRate {
 public:
  void add(std::uint64_t bytes, std::uint64_t us);
  /// Returns the microseconds for `bytes` bytes; 0 until something was read.
  std::uint64_t us(std::uint64_t bytes) const {
    return bytes / kPiece * piece_us_ + bytes % kPiece * piece_us_ / kPiece;
  }
  /// Returns true for one in 32 reads that do not seem worthwhile. They are made all the same: otherwise a storage that
  /// was slow for a while would never be measured as fast again.
  bool try_anyway() { return ++refused_ % kTryOneIn == 0; }

 private:
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 20, kTryOneIn = 32;
  std::uint64_t piece_us_ = 0;  ///< microseconds for kPiece bytes; 0: unknown
  std::uint64_t refused_ = 0;
};

}  // namespace canopy
