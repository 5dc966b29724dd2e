#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

namespace canopy {

/// A node that was added. The spans and `words` are valid during the call.
struct AddedNode {
  NodeId node{};
  std::uint32_t parent = 0;  ///< slot of the parent; 0: the root of its namespace
  NamespaceId space{};
  Units length = 0;
  const std::uint32_t* words = nullptr;  ///< its length + overlap words
  std::uint32_t resident = 0;            ///< bit g: group g has pages here
  GroupPages pages{};                    ///< empty if `request` is not 0
  std::uint64_t request = 0;             ///< InsertFacts::request
  Tick created = 0;
};

/// The pages of a node in one group: page i is first[i * stride].
struct NodePageList {
  const Page* first = nullptr;
  std::size_t count = 0, stride = 1;
};

/// Receives the changes of an index as they happen, for the engine's feed and for publishers of KV events. An index
/// calls added() up to cleared() only while wants_nodes() returns true, and the functions after them only while
/// wants_all() does, so that a feed without readers costs one comparison.
///
/// Thread: the engine's; the index calls it.
/// Errors: none.
/// Exceptions: none may escape.
/// Memory: takes none.
class IndexEvents {
 public:
  /// Returns true while changes of nodes are wanted.
  bool wants_nodes() const { return wants_ != Wants::nothing; }
  /// Returns true while all changes are wanted.
  bool wants_all() const { return wants_ == Wants::all; }

  /// Records that the index has no nodes in the sense of NodeFacts: from now on at most changes of nodes are wanted.
  /// `why`: a few words for readers of the feed. REQUIRES: `why` outlives this object.
  virtual void has_no_tree(const char* why) = 0;

  virtual void added(const AddedNode& node) = 0;
  /// Receives a split: `node` keeps its end; `upper` is a new node with its first `units` units and the same facts,
  /// except `inserts`.
  virtual void split(NodeId node, NodeId upper, Units units, std::uint32_t inserts) = 0;
  /// Receives the pages of a node that was a tombstone of the group. `words`: its length + overlap words.
  virtual void filled(NodeId node, std::size_t group, Units length, const std::uint32_t* words,
                      const NodePageList& pages) = 0;
  /// Receives a node whose pages of the group were evicted.
  virtual void tombstoned(NodeId node, std::size_t group) = 0;
  /// Receives a node that was evicted or flushed in all groups. `inherited`: its parent takes over its facts.
  virtual void removed(NodeId node, bool inherited) = 0;
  virtual void cleared() = 0;

  /// Receives the new page numbers of a node.
  virtual void relocated(NodeId node, std::size_t group, const NodePageList& pages) = 0;
  /// Receives a match that ended at `node`: a hit for the node and all above it, and a lock that covers the first group
  /// from depth `from` on.
  virtual void used(NodeId node, Tick tick, Units from) = 0;
  /// Receives a new creation time: a split counts as the creation of this node.
  virtual void created(NodeId node, Tick created) = 0;
  /// Receives the changed facts of a node, as policies receive them.
  virtual void changed(NodeId node, std::int32_t priority, Tick last_access, std::uint32_t hits,
                       std::uint32_t inserts) = 0;
  /// Receives the rank with which the node waits to be evicted.
  virtual void ranked(NodeId node, std::size_t group, Rank rank) = 0;
  /// Receives a new lock that ends at `node` and covers the group from depth `from` on.
  virtual void locked(NodeId node, std::size_t group, Units from) = 0;
  virtual void unlocked(NodeId node, std::size_t group, Units from) = 0;
  /// Receives a lock that ended at `before` and now ends at `node`.
  virtual void relocked(NodeId node, std::size_t group, Units from, NodeId before, Units from_before) = 0;
  /// Receives a lock that ends at `node` and now covers less.
  virtual void relaxed(NodeId node, std::size_t group, Units from_before, Units from) = 0;

 protected:
  enum class Wants : std::uint32_t { nothing, nodes, all };
  ~IndexEvents() = default;
  Wants wants_ = Wants::nothing;
};

}  // namespace canopy
