#pragma once

#include <canopy/feed/storage_events.h>
#include <canopy/page_storage.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace canopy {

/// What is shown of the calls of a storage, beside StorageFigures. No decision depends on it.
struct StorageBoard {
  static constexpr std::size_t kFates = 5;

  /// The calls of one kind. Times are microseconds, those of Engine::turn.
  struct Lane {
    std::uint32_t on_way = 0;                   ///< calls that have begun and not ended
    std::uint64_t on_way_bytes = 0;             ///< of those
    std::uint64_t calls = 0, bytes = 0;         ///< that have ended; bytes of records that arrived
    std::array<std::uint64_t, kFates> fates{};  ///< StorageFates

    void begun(std::uint64_t now_us, std::uint64_t its_bytes) {
      if (on_way++ == 0) busy_from_ = now_us;
      on_way_bytes += its_bytes;
    }
    /// `arrived`: bytes, 0 of a call that never ended.
    void ended(std::uint64_t began_us, std::uint64_t now_us, std::uint64_t its_bytes, std::uint64_t arrived) {
      --on_way, on_way_bytes -= its_bytes;
      ++calls, bytes += arrived;
      const std::uint64_t took = now_us - std::min(began_us, now_us);
      call_us_ = calls == 1 ? took : (call_us_ * (kWeight - 1) + took) / kWeight;
      if (now_us > busy_from_) busy_us_ += now_us - busy_from_, busy_from_ = now_us;
      busy_bytes_ += arrived;
      if (busy_us_ >= kSpan) busy_us_ /= 2, busy_bytes_ /= 2;
    }
    /// What a call takes: an exponential mean.
    std::uint64_t call_us() const { return call_us_; }
    /// Over the last seconds in which calls were on their way; 0: not known.
    std::uint64_t bytes_per_second() const {
      return busy_us_ == 0
                 ? 0
                 : static_cast<std::uint64_t>(static_cast<double>(busy_bytes_) * 1e6 / static_cast<double>(busy_us_));
    }

   private:
    static constexpr std::uint64_t kWeight = 8, kSpan = 2'000'000;
    std::uint64_t call_us_ = 0;
    std::uint64_t busy_from_ = 0, busy_us_ = 0, busy_bytes_ = 0;
  };

  Lane& lane(StorageLane which) { return lanes[static_cast<std::size_t>(which)]; }

  std::string name;  ///< of the storage; empty: there is none
  std::array<Lane, kStorageLanes> lanes{};
  event::StorageHealth health;
  event::StorageRoom room;
  std::optional<event::StorageRanks> ranks;  ///< nothing: it is the only rank
};

}  // namespace canopy
