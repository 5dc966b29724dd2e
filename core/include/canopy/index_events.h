#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

namespace canopy {

/// A node that was added. The spans and `words` are valid during the call.
struct AddedNode {
  NodeId node{};
  std::uint32_t parent = 0;  ///< slot of the parent; 0: it hangs below the root of its namespace
  NamespaceId space{};
  Units length = 0;
  const std::uint32_t* words = nullptr;  ///< length + overlap of them
  std::uint32_t resident = 0;            ///< bit g: group g has pages here
  GroupPages pages{};                    ///< empty if `request` is set
  std::uint64_t request = 0;             ///< InsertFacts::request
  Tick created = 0;
};

/// The pages of a node in one group: page i is first[i * stride].
struct NodePageList {
  const Page* first = nullptr;
  std::size_t count = 0, stride = 1;
};

/// Receives the changes of an index as they happen: the engine's feed, and publishers of KV events. An index calls
/// these functions only while wants_nodes() or wants_all() is true, so that a feed without readers costs a test of one
/// number.
///
/// Thread: the index's. Errors: none. Exceptions: none. Memory: none is taken.
class IndexEvents {
 public:
  /// Returns true while changes of nodes are wanted: added() up to cleared().
  bool wants_nodes() const { return wants_ != Wants::nothing; }
  /// Returns true while all changes are wanted.
  bool wants_all() const { return wants_ == Wants::all; }

  /// For an index without nodes in the sense of NodeFacts: nothing but changes of nodes is wanted from now on. `why`, a
  /// few words for readers of the feed, outlives this object.
  virtual void has_no_tree(const char* why) = 0;

  virtual void added(const AddedNode& node) = 0;
  /// `node` keeps its end; `upper` is a new node with its first `units` units and the same facts, except `inserts`.
  virtual void split(NodeId node, NodeId upper, Units units, std::uint32_t inserts) = 0;
  /// A tombstone of the group has pages again. `words`: length + overlap of them.
  virtual void filled(NodeId node, std::size_t group, Units length, const std::uint32_t* words,
                      const NodePageList& pages) = 0;
  /// The node's pages of the group were evicted.
  virtual void tombstoned(NodeId node, std::size_t group) = 0;
  /// The node was evicted or flushed in all groups. `inherited`: its parent takes over its facts.
  virtual void removed(NodeId node, bool inherited) = 0;
  virtual void cleared() = 0;

  /// The node's pages were relocated.
  virtual void relocated(NodeId node, std::size_t group, const NodePageList& pages) = 0;
  /// A match ended here: a hit for the node and all above it, and a lock from depth `from` on in the first group.
  virtual void used(NodeId node, Tick tick, Units from) = 0;
  /// A split counts as the creation of this node.
  virtual void created(NodeId node, Tick created) = 0;
  /// The facts of a node that a policy sees have changed.
  virtual void changed(NodeId node, std::int32_t priority, Tick last_access, std::uint32_t hits,
                       std::uint32_t inserts) = 0;
  /// The node waits to be evicted with this rank.
  virtual void ranked(NodeId node, std::size_t group, Rank rank) = 0;
  /// A lock ends here and covers the group from depth `from` on.
  virtual void locked(NodeId node, std::size_t group, Units from) = 0;
  virtual void unlocked(NodeId node, std::size_t group, Units from) = 0;
  /// A lock that ended at `before` ends at `node` now.
  virtual void relocked(NodeId node, std::size_t group, Units from, NodeId before, Units from_before) = 0;
  /// A lock that ends here covers less now.
  virtual void relaxed(NodeId node, std::size_t group, Units from_before, Units from) = 0;

 protected:
  enum class Wants : std::uint32_t { nothing, nodes, all };
  ~IndexEvents() = default;
  Wants wants_ = Wants::nothing;
};

}  // namespace canopy
