#pragma once
/// Every kind of event: one struct each, its encoding and its decoding side by side. To add a kind: a struct with the
/// next free kKind in index_events.h, engine_events.h or storage_events.h, its name in AllEvents, a call that pushes
/// it, and a function of the inspector's Apply. Older readers skip it and count it.
///
/// An operation's events come first and its Commit last: a reader takes whole commits or nothing. A keyframe is the
/// events that would build what there is.

#include <canopy/feed/engine_events.h>
#include <canopy/feed/index_events.h>
#include <canopy/feed/storage_events.h>

#include <algorithm>
#include <type_traits>

namespace canopy::event {

template <class... Kinds>
struct ListOfEvents {
  /// Calls visit with the decoded event. False if its kind is none of these.
  template <class Visit>
  static bool decode(const Event& event, Visit&& visit) {
    using Call = void (*)(const Event&, std::remove_reference_t<Visit>&);
    static constexpr std::array<Call, 256> kCalls = [] {
      std::array<Call, 256> calls{};
      ((calls[Kinds::kKind] = [](const Event& e, std::remove_reference_t<Visit>& v) { v(Kinds::decode(e)); }), ...);
      return calls;
    }();
    if (!kCalls[event.kind]) return false;
    kCalls[event.kind](event, visit);
    return true;
  }

  static constexpr bool knows(const Event& event) { return (is<Kinds>(event) || ...); }

  static constexpr bool distinct() {
    std::array<std::size_t, 256> times{};
    (++times[Kinds::kKind], ...);
    return std::all_of(times.begin(), times.end(), [](std::size_t n) { return n <= 1; });
  }
};

using AllEvents =
    ListOfEvents<NodeAdded, NodeNamed, NodeWords, NodePages, NodeSplit, NodeRemoved, NodeTombstoned, NodeUsed,
                 NodeCreated, NodeHistory, NodeLocks, NodeRanked, Locked, Unlocked, Relocked, Relaxed, Cleared,
                 RequestBegun, RequestPages, RequestProgress, Freed, PoolSized, TextPiece, Keyframe, Totals, Commit,
                 SegmentChanged, Pinned, NodeJoined, TierPages, TierMoved, TierLane, TierFetches, TierEnds, TierLost,
                 StorageQueue, StorageSpeed, StorageFates, StorageBrings, StorageMoved, StorageLost, StorageHealth,
                 StorageRoom, NodeBrought, CallersPool, StorageRanks>;
static_assert(AllEvents::distinct());

}  // namespace canopy::event
