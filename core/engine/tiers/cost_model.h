#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/types.h>

#include <cstdint>

namespace canopy {

/// Whether a fetch is faster than computing the same tokens. All of it is arithmetic of whole numbers over the
/// configuration and the time of Engine::turn, so that every machine and every rank decides alike.
///
/// A fetch of n tokens behind d others takes load(n) = what the lane has to do first + latency + bytes / bandwidth, and
/// computing them recompute(d, n) = fixed + per_token n + per_token_depth n (d + n / 2). What is saved grows faster
/// than n, so the whole of what a tier has is worth most or nothing is: no shorter part is ever the best one.
class CostModel {
 public:
  explicit CostModel(const RecomputeConfig& config) : config_(config) {}

  /// Whether the configuration says what computing takes. If not, every fetch is worth it.
  bool known() const { return (config_.fixed | config_.per_token | config_.per_token_depth) != 0; }
  /// Microseconds that computing `count` tokens behind `depth` others takes; 0 if that is not known.
  std::uint64_t recompute_us(Units depth, Units count) const;
  /// Whether fetching them in so many microseconds is worth it.
  bool worth(std::uint64_t load_us, Units depth, Units count) const {
    return !known() || load_us < allowed_us(depth, count);
  }
  /// Microseconds that a fetch of them may take; kUnlimited if what computing takes is not known.
  std::uint64_t allowed_us(Units depth, Units count) const {
    return known() ? recompute_us(depth, count) * config_.margin / 100 : kUnlimited;
  }
  /// A prefill has computed them in `us`. With `learn`, what is computed from now on is expected to take as many times
  /// the configured figure as the last ones did: a mean in which each counts for a sixteenth.
  void computed(Units depth, Units count, std::uint64_t us);

 private:
  static constexpr std::int64_t kOne = 1024;  ///< of pace_

  std::uint64_t configured_us(Units depth, Units count) const;

  RecomputeConfig config_;
  std::int64_t pace_ = kOne;  ///< what was seen over what is configured
};

/// What a storage in real time takes, as its last reads took it: a mean over bytes in which each counts for an eighth.
class SeenRate {
 public:
  void add(std::uint64_t bytes, std::uint64_t us);
  /// Microseconds for so many bytes; 0 as long as nothing was read.
  std::uint64_t us(std::uint64_t bytes) const {
    return bytes / kPiece * piece_us_ + bytes % kPiece * piece_us_ / kPiece;
  }
  /// A read would not be worth it by what was seen. True for one in 32 of these: it is to be made all the same, since
  /// a storage that was slow for a while would never be seen to be fast again.
  bool try_anyway() { return ++refused_ % kTryOneIn == 0; }

 private:
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 20, kTryOneIn = 32;
  std::uint64_t piece_us_ = 0;  ///< microseconds for kPiece bytes; 0: not known
  std::uint64_t refused_ = 0;
};

}  // namespace canopy
