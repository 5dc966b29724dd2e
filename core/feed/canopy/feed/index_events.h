#pragma once
/// What happens to an index: nodes and locks.

#include <canopy/eviction_strategy.h>
#include <canopy/feed/event_fields.h>

namespace canopy::event {

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
    return {kKind,  0, resident, static_cast<std::uint32_t>(space), detail::bits(node), detail::pair(parent, length),
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
/// Without a run: the node has the group's pages now, and their numbers are not known.
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

/// A node was cut: `node` keeps its end, `upper` is a new node with its first `units` units and the same facts.
struct NodeSplit {
  static constexpr std::uint8_t kKind = 5;
  NodeId node{}, upper{};
  Units units = 0;
  std::uint32_t inserts = 0;  ///< of the upper half

  Event encode() const { return {kKind, 0, 0, inserts, detail::bits(node), detail::bits(upper), units}; }
  static NodeSplit decode(const Event& e) { return {NodeId{e.id}, NodeId{e.a}, detail::low(e.b), e.extra}; }
};

/// A node took in its only child, which has pages in the same groups: the child's units and pages follow its own, and
/// what hung below the child hangs below it. An index does not do so; the tree of another server's KV events does.
struct NodeJoined {
  static constexpr std::uint8_t kKind = 29;
  NodeId node{}, child{};

  Event encode() const { return {kKind, 0, 0, 0, detail::bits(node), detail::bits(child), 0}; }
  static NodeJoined decode(const Event& e) { return {NodeId{e.id}, NodeId{e.a}}; }
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
    return {kKind,
            0,
            0,
            static_cast<std::uint32_t>(priority),
            detail::bits(node),
            last_access,
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

  Event encode() const { return {kKind, group, 0, from, detail::bits(node), detail::bits(before), from_before}; }
  static Relocked decode(const Event& e) { return {NodeId{e.id}, e.group, e.extra, NodeId{e.a}, detail::low(e.b)}; }
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

}  // namespace canopy::event
