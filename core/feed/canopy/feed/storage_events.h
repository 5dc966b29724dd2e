#pragma once
/// What happens between the host tier and the storage below it. None of these comes if there is no storage. Figures are
/// since the engine was made unless they say otherwise, and times are those of Engine::turn.

#include <canopy/feed/event_fields.h>

#include <array>
#include <cstdint>

namespace canopy {

/// The calls of a storage by kind: each kind has a lane of its own.
enum class StorageLane : std::uint16_t { find, get, put };
inline constexpr std::size_t kStorageLanes = 3;

/// Whether the storage is called (core/engine/tiers/breaker.h).
enum class StorageState : std::uint16_t { closed, half_open, open };

}  // namespace canopy

namespace canopy::event {

struct StorageQueue {
  static constexpr std::uint8_t kKind = 35;
  StorageLane lane{};
  std::uint32_t on_way = 0;            ///< calls that have begun and not ended
  std::uint64_t on_way_bytes = 0;      ///< of those
  std::uint64_t calls = 0, bytes = 0;  ///< that have ended; bytes of the records that arrived

  Event encode() const { return {kKind, 0, static_cast<std::uint16_t>(lane), on_way, on_way_bytes, calls, bytes}; }
  static StorageQueue decode(const Event& e) { return {static_cast<StorageLane>(e.flags), e.extra, e.id, e.a, e.b}; }
};

/// How fast a lane has been lately. An estimate, and 0 while there is none.
struct StorageSpeed {
  static constexpr std::uint8_t kKind = 36;
  StorageLane lane{};
  std::uint64_t call_us = 0;           ///< that a call takes
  std::uint64_t bytes_per_second = 0;  ///< while calls are on their way

  Event encode() const { return {kKind, 0, static_cast<std::uint16_t>(lane), 0, call_us, bytes_per_second, 0}; }
  static StorageSpeed decode(const Event& e) { return {static_cast<StorageLane>(e.flags), e.id, e.a}; }
};

/// How records ended, as the storage told it. Of finds: calls; `absent` are those that found nothing.
struct StorageFates {
  static constexpr std::uint8_t kKind = 37;
  StorageLane lane{};
  std::array<std::uint32_t, 5> by_fate{};  ///< done, absent, full, late, failed

  Event encode() const {
    return {kKind,
            0,
            static_cast<std::uint16_t>(lane),
            by_fate[0],
            detail::pair(by_fate[1], by_fate[2]),
            detail::pair(by_fate[3], by_fate[4]),
            0};
  }
  static StorageFates decode(const Event& e) {
    return {static_cast<StorageLane>(e.flags),
            {e.extra, detail::low(e.id), detail::high(e.id), detail::low(e.a), detail::high(e.a)}};
  }
};

/// How it went to bring prefixes to the host tier: six outcomes (BringOutcome) from `first` on.
struct StorageBrings {
  static constexpr std::uint8_t kKind = 38;
  static constexpr std::size_t kOutcomes = 12, kEach = 6;
  std::uint32_t first = 0;
  std::array<std::uint32_t, kEach> by_outcome{};

  Event encode() const {
    return {kKind,
            0,
            0,
            first,
            detail::pair(by_outcome[0], by_outcome[1]),
            detail::pair(by_outcome[2], by_outcome[3]),
            detail::pair(by_outcome[4], by_outcome[5])};
  }
  static StorageBrings decode(const Event& e) {
    return {e.extra,
            {detail::low(e.id), detail::high(e.id), detail::low(e.a), detail::high(e.a), detail::low(e.b),
             detail::high(e.b)}};
  }
};

/// Tokens of the first group.
struct StorageMoved {
  static constexpr std::uint8_t kKind = 39;
  std::uint64_t written = 0;  ///< put, and kept or there already
  std::uint64_t read = 0;     ///< got, and in the host tier since
  std::uint64_t hits = 0;     ///< of what requests found, what had come from the storage for them

  Event encode() const { return {kKind, 0, 0, 0, written, read, hits}; }
  static StorageMoved decode(const Event& e) { return {e.id, e.a, e.b}; }
};

/// What did not become a hit.
struct StorageLost {
  static constexpr std::uint8_t kKind = 40;
  std::uint64_t unkept = 0;     ///< tokens that were put and not kept
  std::uint64_t dropped = 0;    ///< tokens that left the host tier and were not put
  std::uint64_t damaged = 0;    ///< records that were not what they should be
  std::uint32_t outwaited = 0;  ///< fetches that went on without the storage, which took longer than computing

  Event encode() const { return {kKind, 0, 0, outwaited, unkept, dropped, damaged}; }
  static StorageLost decode(const Event& e) { return {e.id, e.a, e.b, e.extra}; }
};

struct StorageHealth {
  static constexpr std::uint8_t kKind = 41;
  StorageState state{};
  std::uint32_t breaks = 0;      ///< times that the engine stopped calling the storage
  std::uint64_t until_us = 0;    ///< while open: when it is called again; kUnlimited: never
  std::uint64_t held_bytes = 0;  ///< of the host tier, that calls which were given up may still read or write
  std::uint64_t lost_bytes = 0;  ///< of the host tier, that the storage has never given back

  Event encode() const {
    return {kKind, 0, static_cast<std::uint16_t>(state), breaks, until_us, held_bytes, lost_bytes};
  }
  static StorageHealth decode(const Event& e) { return {static_cast<StorageState>(e.flags), e.extra, e.id, e.a, e.b}; }
};

/// What the storage has, of all groups, as it says itself. kUnlimited: it does not say.
struct StorageRoom {
  static constexpr std::uint8_t kKind = 42;
  std::uint64_t capacity = kUnlimited, used = kUnlimited;  ///< bytes
  std::uint64_t records = kUnlimited;

  Event encode() const { return {kKind, 0, 0, 0, capacity, used, records}; }
  static StorageRoom decode(const Event& e) { return {e.id, e.a, e.b}; }
};

/// Of the host tier's tree: units [from, until) of the path that ends with a node have come from the storage, which is
/// believed to have them still. A keyframe does not repeat it, since no component remembers it.
struct NodeBrought {
  static constexpr std::uint8_t kKind = 43;
  NodeId node{};
  Units from = 0, until = 0;

  Event encode() const { return {kKind, 0, 0, 0, detail::bits(node), from, until}; }
  static NodeBrought decode(const Event& e) { return {NodeId{e.id}, static_cast<Units>(e.a), static_cast<Units>(e.b)}; }
};

/// Of an engine that is one of several ranks: why its calls end when they do. Not told without ranks.
struct StorageRanks {
  static constexpr std::uint8_t kKind = 46;
  bool stopped = false;       ///< the ranks did not agree once: nothing moves between the tiers since
  std::uint32_t awaited = 0;  ///< calls that have ended on this rank, and not yet on every other one
  std::uint64_t worse = 0;    ///< calls that counted as worse than they were here, since they were on another rank

  Event encode() const { return {kKind, 0, stopped, awaited, worse, 0, 0}; }
  static StorageRanks decode(const Event& e) { return {e.flags == 1, e.extra, e.id}; }
};

}  // namespace canopy::event
