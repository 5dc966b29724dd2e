#pragma once

#include <mirror/mirror_state.h>

#include <array>
#include <cstdint>
#include <optional>

namespace canopy::metrics {

/// The storage below the tier below, as it is now.
struct StorageNow {
  struct Lane {
    std::uint64_t calls = 0, bytes = 0;  ///< on their way
    std::optional<double> call_seconds;  ///< estimates; nothing: there is none yet
    std::optional<std::uint64_t> bytes_per_second;
  };
  std::array<Lane, kStorageLanes> lanes{};
  StorageState state{};
  std::uint64_t held_bytes = 0, lost_bytes = 0;
  std::optional<std::uint64_t> records, used_bytes, capacity_bytes;  ///< nothing: the storage does not tell

  static StorageNow of(const inspector::MirrorStorage& storage);
};

/// What only grows, since the exporter began, over all lives of the feed.
struct StorageCounts {
  struct Lane {
    std::uint64_t calls = 0, bytes = 0;
    std::array<std::uint64_t, 5> fates{};
  };
  std::array<Lane, kStorageLanes> lanes{};
  std::uint64_t hits = 0, written = 0, read = 0, unkept = 0, dropped = 0;  ///< tokens of the first group
  std::uint64_t damaged = 0;                                               ///< records
  std::uint64_t breaks = 0, outwaited = 0;                                 ///< outwaited: fetches
  std::array<std::uint64_t, event::StorageBrings::kOutcomes> brings{};

  /// What a feed has told, which its engine has counted since it was made.
  static StorageCounts told(const inspector::MirrorStorage* storage);
  /// Adds what `now` has beyond `before`.
  void add(const StorageCounts& before, const StorageCounts& now);
};

}  // namespace canopy::metrics
