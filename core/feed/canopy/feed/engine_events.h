#pragma once
/// What happens to requests, pools and the engine.

#include <canopy/feed/event_fields.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace canopy::event {

// ---- Of requests ----

struct RequestBegun {
  static constexpr std::uint8_t kKind = 18;
  std::uint64_t request = 0;
  std::uint32_t prompt = 0, matched = 0;  ///< tokens
  NamespaceId space{};
  bool fetch = false;  ///< it computes nothing: its pages are filled from the tier below

  Event encode() const {
    return {kKind, 0, fetch, prompt, request, detail::pair(matched, static_cast<std::uint32_t>(space)), 0};
  }
  static RequestBegun decode(const Event& e) {
    return {e.id, e.extra, detail::low(e.a), NamespaceId{detail::high(e.a)}, e.flags == 1};
  }
};

/// Pages that a request owns, from place `place` of its row of a group on. The row ends with them.
struct RequestPages {
  static constexpr std::uint8_t kKind = 19;
  std::uint64_t request = 0;
  std::uint8_t group = 0;
  std::uint32_t place = 0;
  TwoRuns runs{};

  Event encode() const { return {kKind, group, 0, place, request, detail::run(runs[0]), detail::run(runs[1])}; }
  static RequestPages decode(const Event& e) { return {e.id, e.group, e.extra, {detail::run(e.a), detail::run(e.b)}}; }
};

struct RequestProgress {
  static constexpr std::uint8_t kKind = 20;
  std::uint64_t request = 0;
  RequestPhase phase{};
  std::uint32_t computed = 0;               ///< tokens
  std::uint32_t committed = 0, tokens = 0;  ///< tokens whose pages are the index's; tokens that are known

  Event encode() const { return {kKind, 0, static_cast<std::uint16_t>(phase), computed, request, committed, tokens}; }
  static RequestProgress decode(const Event& e) {
    return {e.id, static_cast<RequestPhase>(e.flags), e.extra, detail::low(e.a), detail::low(e.b)};
  }
};

// ---- Of pools ----

/// These pages are free now.
struct Freed {
  static constexpr std::uint8_t kKind = 21;
  std::uint8_t group = 0;
  TwoRuns runs{};

  Event encode() const { return {kKind, group, 0, 0, 0, detail::run(runs[0]), detail::run(runs[1])}; }
  static Freed decode(const Event& e) { return {e.group, {detail::run(e.a), detail::run(e.b)}}; }
};

struct PoolSized {
  static constexpr std::uint8_t kKind = 22;
  std::uint8_t group = 0;
  std::uint32_t segment_pages = 0;
  std::uint64_t pages = 0;  ///< free or out
  std::uint64_t limit = 0;  ///< pages; kUnlimited

  Event encode() const { return {kKind, group, 0, segment_pages, 0, pages, limit}; }
  static PoolSized decode(const Event& e) { return {e.group, e.extra, e.a, e.b}; }
};

struct SegmentChanged {
  static constexpr std::uint8_t kKind = 27;
  std::uint8_t group = 0;
  std::uint64_t number = 0;
  SegmentState state{};
  std::uint32_t offered = 0;   ///< pages from its first on
  std::uint32_t draining = 0;  ///< pages that are out and will not be handed out again

  Event encode() const { return {kKind, group, static_cast<std::uint16_t>(state), draining, number, offered, 0}; }
  static SegmentChanged decode(const Event& e) {
    return {e.group, e.id, static_cast<SegmentState>(e.flags), detail::low(e.a), e.extra};
  }
};

/// Sums of some commits, so that a reader compares its own with them.
struct Totals {
  static constexpr std::uint8_t kKind = 25;
  std::uint8_t group = 0;
  std::uint32_t owned = 0;                      ///< pages that requests own
  std::uint64_t free = 0;                       ///< pages
  std::uint64_t evictable = 0, protected_ = 0;  ///< units

  Event encode() const { return {kKind, group, 0, owned, free, evictable, protected_}; }
  static Totals decode(const Event& e) { return {e.group, e.extra, e.id, e.a, e.b}; }
};

/// Of an index that is used without an engine: what the caller says of the pool that its pages are from. The feed tells
/// of no page then, only of these sums.
struct CallersPool {
  static constexpr std::uint8_t kKind = 45;
  std::uint8_t group = 0;
  std::uint64_t pages = 0, free = 0;

  Event encode() const { return {kKind, group, 0, 0, 0, pages, free}; }
  static CallersPool decode(const Event& e) { return {e.group, e.a, e.b}; }
};

// ---- Of the tier below the pools; there is none if they never come ----

/// What the tier below has of a group, beside Totals.
struct TierPages {
  static constexpr std::uint8_t kKind = 30;
  std::uint8_t group = 0;
  std::uint64_t resident = 0, moving = 0, limit = 0;  ///< pages; moving: that a copy fills

  Event encode() const { return {kKind, group, 0, 0, resident, moving, limit}; }
  static TierPages decode(const Event& e) { return {e.group, e.id, e.a, e.b}; }
};

/// What has moved between the pools and the tier below, in tokens of the first group, since the engine was made.
struct TierMoved {
  static constexpr std::uint8_t kKind = 31;
  std::uint64_t written = 0, loaded = 0;
  std::uint64_t hits = 0;  ///< of what requests found, what had been loaded for them

  Event encode() const { return {kKind, 0, 0, 0, written, loaded, hits}; }
  static TierMoved decode(const Event& e) { return {e.id, e.a, e.b}; }
};

/// One of the two lanes between the pools and the tier below, in the time of Engine::turn.
struct TierLane {
  static constexpr std::uint8_t kKind = 32;
  bool loads = false;              ///< from the tier below; else to it
  std::uint32_t queued = 0;        ///< copies that have begun and not ended
  std::uint64_t queued_bytes = 0;  ///< of those
  std::uint64_t bytes = 0;         ///< of all that have begun, since the engine was made
  std::uint64_t now_us = 0;        ///< the time that the last turn was told

  Event encode() const { return {kKind, 0, loads, queued, queued_bytes, bytes, now_us}; }
  static TierLane decode(const Event& e) { return {e.flags == 1, e.extra, e.id, e.a, e.b}; }
};

/// How fetches from the tier below went, since the engine was made: whole, cut, joined, nothing, too short, no room,
/// not worth it.
struct TierFetches {
  static constexpr std::uint8_t kKind = 33;
  std::array<std::uint32_t, 7> by_outcome{};

  Event encode() const {
    return {kKind,
            0,
            0,
            by_outcome[6],
            detail::pair(by_outcome[0], by_outcome[1]),
            detail::pair(by_outcome[2], by_outcome[3]),
            detail::pair(by_outcome[4], by_outcome[5])};
  }
  static TierFetches decode(const Event& e) {
    return {{detail::low(e.id), detail::high(e.id), detail::low(e.a), detail::high(e.a), detail::low(e.b),
             detail::high(e.b), e.extra}};
  }
};

/// What did not become a hit, in tokens of the first group, since the engine was made.
struct TierLost {
  static constexpr std::uint8_t kKind = 34;
  std::uint64_t dropped = 0;  ///< that left the pools and were not copied
  std::uint64_t lost = 0;     ///< that were copied for nothing
  std::uint64_t evicted = 0;  ///< that left the tier below

  Event encode() const { return {kKind, 0, 0, 0, dropped, lost, evicted}; }
  static TierLost decode(const Event& e) { return {e.id, e.a, e.b}; }
};

/// What became of the fetches that something came of, since the engine was made.
struct TierEnds {
  static constexpr std::uint8_t kKind = 44;
  static constexpr std::size_t kEnds = 3;
  std::array<std::uint32_t, kEnds> by_end{};  ///< used, late, unused (FetchEnd)
  std::uint64_t took_us = 0;   ///< of those that a request began on: from its asking to the end of the copy, or until
                               ///< it began
  std::uint64_t saved_us = 0;  ///< that computing would have taken what was used; 0 where that is not known

  Event encode() const { return {kKind, 0, 0, by_end[0], detail::pair(by_end[1], by_end[2]), took_us, saved_us}; }
  static TierEnds decode(const Event& e) { return {{e.extra, detail::low(e.id), detail::high(e.id)}, e.a, e.b}; }
};

// ---- Of the engine ----

/// A piece of a text; the piece at 0 begins it.
struct TextPiece {
  static constexpr std::uint8_t kKind = 23;
  static constexpr std::size_t kBytes = 2 * sizeof(std::uint64_t);
  TextKind text{};
  std::uint32_t number = 0;
  std::uint32_t at = 0;  ///< its first byte in the text
  bool last = false;
  std::uint8_t size = 0;
  std::array<char, kBytes> bytes{};

  std::string_view view() const { return {bytes.data(), std::min<std::size_t>(size, kBytes)}; }

  Event encode() const {
    Event e{kKind, 0, size, at | (last ? kLast : 0), detail::pair(static_cast<std::uint32_t>(text), number), 0, 0};
    std::memcpy(&e.a, bytes.data(), sizeof(e.a));
    std::memcpy(&e.b, bytes.data() + sizeof(e.a), sizeof(e.b));
    return e;
  }
  static TextPiece decode(const Event& e) {
    TextPiece piece{static_cast<TextKind>(detail::low(e.id)),
                    detail::high(e.id),
                    e.extra & ~kLast,
                    (e.extra & kLast) != 0,
                    static_cast<std::uint8_t>(std::min<std::size_t>(e.flags, kBytes)),
                    {}};
    std::memcpy(piece.bytes.data(), &e.a, sizeof(e.a));
    std::memcpy(piece.bytes.data() + sizeof(e.a), &e.b, sizeof(e.b));
    return piece;
  }

 private:
  static constexpr std::uint32_t kLast = std::uint32_t{1} << 31;
};

/// The reader discards its state. The events up to the next Commit build the whole state.
struct Keyframe {
  static constexpr std::uint8_t kKind = 24;

  Event encode() const { return {kKind, 0, 0, 0, 0, 0, 0}; }
  static Keyframe decode(const Event&) { return {}; }
};

/// The end of an operation's events.
struct Commit {
  static constexpr std::uint8_t kKind = 26;
  Operation operation{};
  Tick tick = 0;                 ///< of the index
  std::uint64_t operations = 0;  ///< so far
  std::uint64_t us = 0;          ///< microseconds since the engine began

  Event encode() const { return {kKind, 0, 0, static_cast<std::uint32_t>(operation), tick, operations, us}; }
  static Commit decode(const Event& e) { return {static_cast<Operation>(e.extra), e.id, e.a, e.b}; }
};

/// A person keeps a node and its path, or no longer does; the lock is told as locks are.
struct Pinned {
  static constexpr std::uint8_t kKind = 28;
  NodeId node{};
  bool pinned = false;

  Event encode() const { return {kKind, 0, 0, 0, detail::bits(node), pinned, 0}; }
  static Pinned decode(const Event& e) { return {NodeId{e.id}, e.a == 1}; }
};

}  // namespace canopy::event
