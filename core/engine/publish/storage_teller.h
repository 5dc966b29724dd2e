#pragma once

#include <canopy/engine/state.h>
#include <canopy/feed/writer.h>

#include <array>
#include <cstdint>

namespace canopy {

/// Tells a feed of the storage: the events that differ from those that were told last.
class StorageTeller {
 public:
  /// Nothing, if there is no storage.
  void tell(const EngineState& state, FeedWriter& feed);
  /// All are told next time, as a keyframe tells them.
  void forget() { told_ = {}; }

 private:
  /// Three for each lane, two for the outcomes, and moved, lost, health, room, ranks.
  static constexpr std::size_t kEvents = 3 * kStorageLanes + 2 + 5;
  std::array<Event, kEvents> told_{};
};

}  // namespace canopy
