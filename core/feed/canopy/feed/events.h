#pragma once
/// Every kind of event: one struct each, its encoding and its decoding side by side. To add a kind: a struct with the
/// next free kKind here, its name in AllEvents, a call that pushes it, and an `apply` of the mirror. Readers of before
/// skip it.
///
/// An operation's events come first and its Commit last: a reader takes whole commits or nothing. A keyframe is the
/// events that would build what there is.

#include <canopy/eviction_strategy.h>
#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace canopy::event {

namespace detail {

constexpr std::uint64_t bits(NodeId id) { return static_cast<std::uint64_t>(id); }
constexpr std::uint64_t pair(std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32; }
constexpr std::uint32_t low(std::uint64_t two) { return static_cast<std::uint32_t>(two); }
constexpr std::uint32_t high(std::uint64_t two) { return static_cast<std::uint32_t>(two >> 32); }
constexpr std::uint64_t run(Segment pages) { return pair(pages.first, pages.pages); }
constexpr Segment run(std::uint64_t pages) { return {low(pages), high(pages)}; }

}  // namespace detail

/// Two runs of page numbers, one behind the other; a run without pages is none. REQUIRES of who pushes: the first run
/// is not empty.
using TwoRuns = std::array<Segment, 2>;

// ---- Of an index ----

/// A node was added below `parent`, a slot (0: the root of its namespace).
struct NodeAdded {
  static constexpr std::uint8_t kKind = 1;
  NodeId node{};
  std::uint32_t parent = 0;
  Units length = 0;
  NamespaceId space{};
  std::uint16_t resident = 0;  ///< bit g: group g has pages here
  /// The request whose row already lists these pages at this depth, as RequestPages told; 0: NodePages follow.
  std::uint64_t request = 0;

  Event encode() const {
    return {kKind, 0, resident, static_cast<std::uint32_t>(space), detail::bits(node), detail::pair(parent, length),
            request};
  }
  static NodeAdded decode(const Event& e) {
    return {NodeId{e.id}, detail::low(e.a), detail::high(e.a), NamespaceId{e.extra}, e.flags, e.b};
  }
};

/// What a node is recognised by.
struct NodeNamed {
  static constexpr std::uint8_t kKind = 2;
  NodeId node{};
  std::uint64_t digest = 0;  ///< XXH3 of its first page's words, keyed (FeedWriter::digest_key)
  Tick created = 0;

  Event encode() const { return {kKind, 0, 0, 0, detail::bits(node), digest, created}; }
  static NodeNamed decode(const Event& e) { return {NodeId{e.id}, e.a, e.b}; }
};

/// Words of a node, only in a feed that carries tokens: those from `first` on.
struct NodeWords {
  static constexpr std::uint8_t kKind = 3;
  static constexpr Units kWords = 4;
  NodeId node{};
  Units first = 0;
  std::array<std::uint32_t, kWords> words{};  ///< beyond the end of the node: 0

  Event encode() const {
    return {kKind, 0, 0, first, detail::bits(node), detail::pair(words[0], words[1]), detail::pair(words[2], words[3])};
  }
  static NodeWords decode(const Event& e) {
    return {NodeId{e.id}, e.extra, {detail::low(e.a), detail::high(e.a), detail::low(e.b), detail::high(e.b)}};
  }
};

/// Pages of a node in a group, from its page number `place` on. Told again from place 0 on: the pages were relocated.
struct NodePages {
  static constexpr std::uint8_t kKind = 4;
  NodeId node{};
  std::uint8_t group = 0;
  std::uint32_t place = 0;
  TwoRuns runs{};

  Event encode() const {
    return {kKind, group, 0, place, detail::bits(node), detail::run(runs[0]), detail::run(runs[1])};
  }
  static NodePages decode(const Event& e) {
    return {NodeId{e.id}, e.group, e.extra, {detail::run(e.a), detail::run(e.b)}};
  }
};

/// A node was cut: `node` keeps its end, `upper` is new and like it but for its first `units` units.
struct NodeSplit {
  static constexpr std::uint8_t kKind = 5;
  NodeId node{}, upper{};
  Units units = 0;
  std::uint32_t inserts = 0;  ///< of the upper half

  Event encode() const { return {kKind, 0, 0, inserts, detail::bits(node), detail::bits(upper), units}; }
  static NodeSplit decode(const Event& e) { return {NodeId{e.id}, NodeId{e.a}, detail::low(e.b), e.extra}; }
};

/// A node was evicted or flushed, with its pages in all groups.
struct NodeRemoved {
  static constexpr std::uint8_t kKind = 6;
  NodeId node{};
  /// Its parent takes over its inserts and priority, and its last access where the first group is one of whole paths.
  bool inherited = false;

  Event encode() const { return {kKind, 0, static_cast<std::uint16_t>(inherited), 0, detail::bits(node), 0, 0}; }
  static NodeRemoved decode(const Event& e) { return {NodeId{e.id}, e.flags == 1}; }
};

/// The node's pages of a group were evicted: it is a tombstone there.
struct NodeTombstoned {
  static constexpr std::uint8_t kKind = 7;
  NodeId node{};
  std::uint8_t group = 0;

  Event encode() const { return {kKind, group, 0, 0, detail::bits(node), 0, 0}; }
  static NodeTombstoned decode(const Event& e) { return {NodeId{e.id}, e.group}; }
};

/// A match ended here: a hit for every node up to the root, and a lock. Locked follows for the groups after the first.
struct NodeUsed {
  static constexpr std::uint8_t kKind = 8;
  NodeId node{};
  Tick tick = 0;
  Units from = 0;  ///< first depth that the new lock covers in the first group

  Event encode() const { return {kKind, 0, 0, 0, detail::bits(node), tick, from}; }
  static NodeUsed decode(const Event& e) { return {NodeId{e.id}, e.a, detail::low(e.b)}; }
};

/// A split made this node anew (accounting: sglang).
struct NodeCreated {
  static constexpr std::uint8_t kKind = 9;
  NodeId node{};
  Tick created = 0;

  Event encode() const { return {kKind, 0, 0, 0, detail::bits(node), created, 0}; }
  static NodeCreated decode(const Event& e) { return {NodeId{e.id}, e.a}; }
};

/// What a policy knows of a node, where it changed.
struct NodeHistory {
  static constexpr std::uint8_t kKind = 10;
  NodeId node{};
  std::int32_t priority = 0;
  Tick last_access = 0;
  std::uint32_t hits = 0, inserts = 0;

  Event encode() const {
    return {kKind, 0, 0, static_cast<std::uint32_t>(priority), detail::bits(node), last_access,
            detail::pair(hits, inserts)};
  }
  static NodeHistory decode(const Event& e) {
    return {NodeId{e.id}, static_cast<std::int32_t>(e.extra), e.a, detail::low(e.b), detail::high(e.b)};
  }
};

/// In a keyframe: how many locks hold the node in a group.
struct NodeLocks {
  static constexpr std::uint8_t kKind = 11;
  NodeId node{};
  std::uint8_t group = 0;
  std::uint32_t locks = 0;

  Event encode() const { return {kKind, group, 0, 0, detail::bits(node), locks, 0}; }
  static NodeLocks decode(const Event& e) { return {NodeId{e.id}, e.group, detail::low(e.a)}; }
};

/// The node waits to be evicted from a group with this rank.
struct NodeRanked {
  static constexpr std::uint8_t kKind = 12;
  NodeId node{};
  std::uint8_t group = 0;
  Rank rank{};

  Event encode() const { return {kKind, group, 0, 0, detail::bits(node), rank.major, rank.minor}; }
  static NodeRanked decode(const Event& e) { return {NodeId{e.id}, e.group, {e.a, e.b}}; }
};

/// A new lock ends here; it covers the group from depth `from` on.
struct Locked {
  static constexpr std::uint8_t kKind = 13;
  NodeId node{};
  std::uint8_t group = 0;
  Units from = 0;

  Event encode() const { return {kKind, group, 0, 0, detail::bits(node), from, 0}; }
  static Locked decode(const Event& e) { return {NodeId{e.id}, e.group, detail::low(e.a)}; }
};

/// A lock that ended here and covered the group from depth `from` on was released.
struct Unlocked {
  static constexpr std::uint8_t kKind = 14;
  NodeId node{};
  std::uint8_t group = 0;
  Units from = 0;

  Event encode() const { return {kKind, group, 0, 0, detail::bits(node), from, 0}; }
  static Unlocked decode(const Event& e) { return {NodeId{e.id}, e.group, detail::low(e.a)}; }
};

/// A lock that ended at `before` ends at `node` now.
struct Relocked {
  static constexpr std::uint8_t kKind = 15;
  NodeId node{};
  std::uint8_t group = 0;
  Units from = 0;  ///< first depth that it covers now
  NodeId before{};
  Units from_before = 0;

  Event encode() const {
    return {kKind, group, 0, from, detail::bits(node), detail::bits(before), from_before};
  }
  static Relocked decode(const Event& e) {
    return {NodeId{e.id}, e.group, e.extra, NodeId{e.a}, detail::low(e.b)};
  }
};

/// A lock that ends here covers less now.
struct Relaxed {
  static constexpr std::uint8_t kKind = 16;
  NodeId node{};
  std::uint8_t group = 0;
  Units from_before = 0, from = 0;

  Event encode() const { return {kKind, group, 0, 0, detail::bits(node), from_before, from}; }
  static Relaxed decode(const Event& e) { return {NodeId{e.id}, e.group, detail::low(e.a), detail::low(e.b)}; }
};

/// The index forgot everything.
struct Cleared {
  static constexpr std::uint8_t kKind = 17;

  Event encode() const { return {kKind, 0, 0, 0, 0, 0, 0}; }
  static Cleared decode(const Event&) { return {}; }
};

// ---- Of requests ----

struct RequestBegun {
  static constexpr std::uint8_t kKind = 18;
  std::uint64_t request = 0;
  std::uint32_t prompt = 0, matched = 0;  ///< tokens
  NamespaceId space{};

  Event encode() const {
    return {kKind, 0, 0, prompt, request, detail::pair(matched, static_cast<std::uint32_t>(space)), 0};
  }
  static RequestBegun decode(const Event& e) {
    return {e.id, e.extra, detail::low(e.a), NamespaceId{detail::high(e.a)}};
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
  static RequestPages decode(const Event& e) {
    return {e.id, e.group, e.extra, {detail::run(e.a), detail::run(e.b)}};
  }
};

struct RequestProgress {
  static constexpr std::uint8_t kKind = 20;
  std::uint64_t request = 0;
  RequestPhase phase{};
  std::uint32_t computed = 0;                    ///< tokens
  std::uint32_t committed = 0, tokens = 0;       ///< tokens whose pages are the index's; tokens that are known

  Event encode() const {
    return {kKind, 0, static_cast<std::uint16_t>(phase), computed, request, committed, tokens};
  }
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
  std::uint32_t owned = 0;   ///< pages that requests own
  std::uint64_t free = 0;    ///< pages
  std::uint64_t evictable = 0, protected_ = 0;  ///< units

  Event encode() const { return {kKind, group, 0, owned, free, evictable, protected_}; }
  static Totals decode(const Event& e) { return {e.group, e.extra, e.id, e.a, e.b}; }
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
    TextPiece piece{static_cast<TextKind>(detail::low(e.id)), detail::high(e.id), e.extra & ~kLast,
                    (e.extra & kLast) != 0, static_cast<std::uint8_t>(std::min<std::size_t>(e.flags, kBytes)), {}};
    std::memcpy(piece.bytes.data(), &e.a, sizeof(e.a));
    std::memcpy(piece.bytes.data() + sizeof(e.a), &e.b, sizeof(e.b));
    return piece;
  }

 private:
  static constexpr std::uint32_t kLast = std::uint32_t{1} << 31;
};

/// Forget everything: what follows up to the commit is all there is.
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
                 SegmentChanged, Pinned>;
static_assert(AllEvents::distinct());

}  // namespace canopy::event
