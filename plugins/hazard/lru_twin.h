#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace canopy::hazard {

/// What a pool as full as this one would hold under lru: all that was used since some time, whether this pool has it
/// or evicted it. That time needs no second pool to be found: as much as this pool has evicted of what was used since
/// then, it has of what was used before.
///
/// It leans towards lru and gives it a thirty-second more room: beside a run under lru, what it found without that was
/// on one trace 2 % too little. Tokens come again in strides and leave in nodes, so it cannot be exact.
class LruTwin {
 public:
  /// When the oldest tokens of lru were used last: within these times.
  struct Oldest {
    double from = 0, to = std::numeric_limits<double>::infinity();
    bool is_held(double last_use) const { return last_use >= to; }
    bool is_gone(double last_use) const { return last_use < from; }
  };

  // Times are ages of the pool (WorkClock). `now` never falls from call to call, in all functions.

  /// Tokens are new in the pool.
  void came(double now, std::int64_t tokens);
  /// Tokens of the pool, last used at `last`, are used now.
  void used(double last, double now, std::int64_t tokens);
  /// Tokens of the pool, last used at `last`, leave it. `kept_by_lru`: for want of room, so lru may still have them.
  void left(double last, double now, std::int64_t tokens, bool kept_by_lru);
  /// Tokens that had left, last used at `last`, are used again. They come into the pool as new ones (`came`).
  void returned(double last, std::int64_t tokens);
  Oldest oldest();

 private:
  /// Tokens by their last use, in steps of two ages. What is older than the first step is counted in it.
  static constexpr double kStep = 2;
  static constexpr std::int64_t kSteps = 4096;
  struct Tokens {
    std::int64_t here = 0, evicted = 0;
  };

  std::int64_t first() const { return now_ < kSteps ? 0 : now_ - kSteps + 1; }
  Tokens& at(std::int64_t step) { return ring_[static_cast<std::size_t>(step) % kSteps]; }
  std::int64_t step_of(double time) const;
  void advance(double now);
  void take(double last, std::int64_t tokens);

  std::array<Tokens, kSteps> ring_{};
  std::int64_t now_ = 0;      ///< step
  std::int64_t edge_ = 0;     ///< the step of lru's oldest tokens
  std::int64_t here_ = 0;     ///< tokens in the pool
  std::int64_t older_ = 0;    ///< of them, used before the edge
  std::int64_t younger_ = 0;  ///< evicted tokens that were used behind the edge
};

}  // namespace canopy::hazard
