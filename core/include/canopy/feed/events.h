#pragma once
/// Every kind of event. The struct is the format. To add a kind: add a struct with the next free kKind to
/// index_events.h or engine_events.h, its name to AllEvents, a call that pushes it, and a function to the inspector's
/// Apply. Older readers skip and count it. A struct's function valid() returns false for values that no engine sends.
///
/// An operation's events end with its Commit: a reader takes whole commits only. A keyframe is the sequence of events
/// that builds the present state.

#include <canopy/feed/engine_events.h>
#include <canopy/feed/index_events.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>

namespace canopy::event {

template <class... Kinds>
struct ListOfEvents {
  /// Calls visit with the event's struct; visit.invalid(), if there is such a function, if the event has values that no
  /// engine sends. Returns false if its kind is not in the list.
  template <class Visit>
  static bool visit(const Event& event, Visit&& visit) {
    using Visited = std::remove_reference_t<Visit>;
    using Call = void (*)(const Event&, Visited&);
    static constexpr std::array<Call, 256> kCalls = [] {
      std::array<Call, 256> calls{};
      ((calls[Kinds::kKind] = &call<Kinds, Visited>), ...);
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

 private:
  template <class T, class Visit>
  static void call(const Event& event, Visit& visit) {
    static_assert(sizeof(T) == sizeof(Event) && std::is_trivially_copyable_v<T>);
    static_assert(std::has_unique_object_representations_v<T>, "Unused must fill the gaps");
    static_assert(offsetof(T, kind) == offsetof(Event, kind) && offsetof(T, group) == offsetof(Event, group));
    const auto it = std::bit_cast<T>(event);
    if constexpr (requires { it.valid(); }) {
      if (!it.valid()) {
        if constexpr (requires { visit.invalid(); }) visit.invalid();
        return;
      }
    }
    visit(it);
  }
};

using AllEvents =
    ListOfEvents<NodeAdded, NodeNamed, NodeDigests, NodeWords, NodePages, NodeSplit, NodeRemoved, NodeTombstoned,
                 NodeUsed, NodeCreated, NodeHistory, NodeLocks, NodeRanked, Locked, Unlocked, Relocked, Relaxed,
                 Cleared, RequestBegun, RequestPages, RequestProgress, Freed, PoolSized, TextPiece, Keyframe, Totals,
                 Commit, SegmentChanged, Pinned, NodeJoined, CounterValue, StorageHealth, NodeBrought, CallersPool,
                 TenantShare, TenantOfSpace, TenantEvicted, EvictedFor, RequestAdmitted>;
static_assert(AllEvents::distinct());

}  // namespace canopy::event
