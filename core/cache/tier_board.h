#pragma once

#include <canopy/feed/engine_events.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace canopy {

/// Display figures of the tiers, beside their counters. No decision depends on them.
struct TierBoard {
  /// Speed of the copies in one direction, or of the calls of one kind. Times are microseconds on the clock of
  /// Engine::turn.
  class Speed {
   public:
    /// Records the first pending call. REQUIRES: no call was pending before.
    void begun(std::uint64_t now_us) { busy_from_ = now_us; }
    /// Records the end of a call. `arrived`: bytes; 0 for a call that never ended.
    void ended(std::uint64_t began_us, std::uint64_t now_us, std::uint64_t arrived) {
      const std::uint64_t took = now_us - std::min(began_us, now_us);
      call_us_ = call_us_ == kUnlimited ? took : (call_us_ * (kWeight - 1) + took) / kWeight;
      if (now_us > busy_from_) busy_us_ += now_us - busy_from_, busy_from_ = now_us;
      busy_bytes_ += arrived;
      if (busy_us_ >= kSpan) busy_us_ /= 2, busy_bytes_ /= 2;
    }
    /// Returns the exponential mean of a call's duration; kUnlimited if none has ended.
    std::uint64_t call_us() const { return call_us_; }
    /// Returns the bytes per second over the last seconds in which calls were pending; kUnlimited if unknown.
    std::uint64_t bandwidth() const {
      const auto rate = busy_us_ == 0 ? 0 : static_cast<double>(busy_bytes_) * 1e6 / static_cast<double>(busy_us_);
      return rate < 1 ? kUnlimited : static_cast<std::uint64_t>(rate);
    }

   private:
    static constexpr std::uint64_t kWeight = 8, kSpan = 2'000'000;
    std::uint64_t call_us_ = kUnlimited;
    std::uint64_t busy_from_ = 0, busy_us_ = 0, busy_bytes_ = 0;
  };

  std::string storage;  ///< Name of the storage; may be empty (none).
  std::array<Speed, std::size(NamesOf<StorageLane>::kAll)> storage_speeds{};
  std::array<Speed, std::size(NamesOf<HostLane>::kAll)> host_speeds{};
  event::StorageHealth health;

  Speed& speed(StorageLane lane) { return storage_speeds[static_cast<std::size_t>(lane)]; }
  Speed& speed(HostLane lane) { return host_speeds[static_cast<std::size_t>(lane)]; }
};

}  // namespace canopy
