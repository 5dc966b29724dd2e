#pragma once
/// Events of an index: nodes and locks.

#include <canopy/eviction_strategy.h>
#include <canopy/feed/event.h>

namespace canopy::event {

/// A node was added below `parent`.
struct NodeAdded {
  static constexpr std::uint8_t kKind = 1;
  std::uint8_t kind = kKind, group = 0;
  std::uint16_t resident = 0;  ///< Bit g is set if group g has pages here.
  NamespaceId space{};
  NodeId node{};
  std::uint32_t parent = 0;  ///< Slot of the parent; 0: the root of its namespace.
  Units length = 0;
  /// Id of the request whose RequestPages already listed these pages at this depth; 0: NodePages follow.
  std::uint64_t request = 0;
};

/// Digest and creation time of a node, to identify it.
struct NodeNamed {
  static constexpr std::uint8_t kKind = 2;
  std::uint8_t kind = kKind, group = 0;
  Unused<6> unused{};
  NodeId node{};
  std::uint64_t digest = 0;  ///< XXH3 of its first page's words, keyed (FeedWriter::digest_key).
  Tick created = 0;
};

/// Digests of a node's pages from `place` on; 0 behind its end. NodeNamed has that of page 0. With them, a reader sees
/// which pages of a new node were evicted before. Sent when a node is added, not in a keyframe, and only for pages of
/// at least FeedWriter::kDigestedPage units, whose digests take little room.
struct NodeDigests {
  static constexpr std::uint8_t kKind = 50;
  static constexpr std::uint32_t kPages = 4;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t place = 0;
  NodeId node{};
  std::array<std::uint32_t, kPages> digests{};  ///< the low half of a digest like NodeNamed::digest
};

/// Words of a node from `first` on. Only in a feed that carries tokens.
struct NodeWords {
  static constexpr std::uint8_t kKind = 3;
  static constexpr Units kWords = 4;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units first = 0;
  NodeId node{};
  std::array<std::uint32_t, kWords> words{};  ///< 0 beyond the end of the node.
};

/// Page numbers of a node in a group, from its page `place` on (0: the first). If they are sent again from place 0 on,
/// the pages were relocated. Without a run: the node now has pages of the group, whose numbers are unknown.
struct NodePages {
  static constexpr std::uint8_t kKind = 4;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t place = 0;
  NodeId node{};
  TwoRuns runs{};
};

/// A node was split: `node` keeps its end, `upper` is a new node with its first `units` units and the same facts.
struct NodeSplit {
  static constexpr std::uint8_t kKind = 5;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units units = 0;
  NodeId node{}, upper{};
  std::uint32_t inserts = 0;  ///< Inserts of the upper half.
  Unused<4> unused_too{};
};

/// A node absorbed its only child, which has pages in the same groups: the child's units and pages follow its own, and
/// the child's children become its children. An index never does this; the tree of another server's KV events does.
struct NodeJoined {
  static constexpr std::uint8_t kKind = 29;
  std::uint8_t kind = kKind, group = 0;
  Unused<6> unused{};
  NodeId node{}, child{};
  Unused<8> unused_too{};
};

/// A node was evicted or flushed, with its pages in all groups.
struct NodeRemoved {
  static constexpr std::uint8_t kKind = 6;
  std::uint8_t kind = kKind, group = 0;
  /// True if the parent takes over its inserts and priority, and its last access if the first group is a whole-path
  /// group.
  Flag inherited = false;
  Unused<5> unused{};
  NodeId node{};
  Unused<16> unused_too{};
};

/// The node's pages of a group were evicted: it is a tombstone there.
struct NodeTombstoned {
  static constexpr std::uint8_t kKind = 7;
  std::uint8_t kind = kKind, group = 0;
  Unused<6> unused{};
  NodeId node{};
  Unused<16> unused_too{};
};

/// A match ended here: a hit for every node up to the root, and a lock. Locked follows for the groups after the first.
struct NodeUsed {
  static constexpr std::uint8_t kKind = 8;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units from = 0;  ///< First depth that the new lock covers in the first group.
  NodeId node{};
  Tick tick = 0;
  Unused<8> unused_too{};
};

/// A split gave this node a new creation time (accounting: sglang).
struct NodeCreated {
  static constexpr std::uint8_t kKind = 9;
  std::uint8_t kind = kKind, group = 0;
  Unused<6> unused{};
  NodeId node{};
  Tick created = 0;
  Unused<8> unused_too{};
};

/// Facts about a node for policies, after they have changed.
struct NodeHistory {
  static constexpr std::uint8_t kKind = 10;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::int32_t priority = 0;
  NodeId node{};
  Tick last_access = 0;
  std::uint32_t hits = 0, inserts = 0;
};

/// Number of locks on the node in a group. Only in a keyframe.
struct NodeLocks {
  static constexpr std::uint8_t kKind = 11;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t locks = 0;
  NodeId node{};
  Unused<16> unused_too{};
};

/// The node waits for eviction from a group with this rank.
struct NodeRanked {
  static constexpr std::uint8_t kKind = 12;
  std::uint8_t kind = kKind, group = 0;
  Unused<6> unused{};
  NodeId node{};
  Rank rank{};
};

/// A new lock ends here; it covers the group from depth `from` on.
struct Locked {
  static constexpr std::uint8_t kKind = 13;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units from = 0;
  NodeId node{};
  Unused<16> unused_too{};
};

/// A lock that ended here and covered the group from depth `from` on was released.
struct Unlocked {
  static constexpr std::uint8_t kKind = 14;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units from = 0;
  NodeId node{};
  Unused<16> unused_too{};
};

/// A lock that ended at `before` now ends at `node`.
struct Relocked {
  static constexpr std::uint8_t kKind = 15;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units from = 0;  ///< First depth that it now covers.
  NodeId node{}, before{};
  Units from_before = 0;
  Unused<4> unused_too{};
};

/// A lock that ends here now covers less.
struct Relaxed {
  static constexpr std::uint8_t kKind = 16;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units from = 0;
  NodeId node{};
  Units from_before = 0;
  Unused<12> unused_too{};
};

/// The index was cleared. A node that the same commit adds again, with its id, has only changed its place.
struct Cleared {
  static constexpr std::uint8_t kKind = 17;
  std::uint8_t kind = kKind, group = 0;
  Unused<30> unused{};
};

/// Only for the tree of the host tier: units [from, until) of the path that ends with a node have arrived from the
/// storage, which probably still has them. A keyframe does not repeat it, because no component keeps it.
struct NodeBrought {
  static constexpr std::uint8_t kKind = 43;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Units from = 0;
  NodeId node{};
  Units until = 0;
  Unused<12> unused_too{};
};

}  // namespace canopy::event
