#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

namespace canopy {

/// In units. evictable + protected_ = resident.
struct Sizes {
  std::uint64_t evictable = 0, protected_ = 0;
};

/// Cost of an index, measured, not estimated.
struct IndexUse {
  std::uint64_t nodes = 0;    ///< nodes without roots
  std::uint64_t bytes = 0;    ///< memory that the index has from the system: resident pages of all its tables
  std::uint64_t refused = 0;  ///< calls with a lock that was stale, or released before; each changed nothing
  /// Inserts that added less than they were given, and matches that found nothing, because the system had no memory. If
  /// there are any, hits are lost, and every figure about them is wrong.
  std::uint64_t inserts_cut_short = 0;
};

/// A node as a visitor sees it. Spans are valid during the call.
struct NodeView {
  NodeFacts facts;
  NodeId parent{};                                ///< none: a child of its namespace's root
  std::span<const std::uint32_t> words;           ///< length + overlap of them
  GroupPages pages;                               ///< empty where the node is a tombstone of the group
  std::array<std::uint32_t, kMaxGroups> locks{};  ///< true reference counts: locks that hold this node
};

class NodeVisitor {
 public:
  virtual void node(const NodeView& node) = 0;

 protected:
  ~NodeVisitor() = default;
};

/// Receives each node that waits to be evicted and its rank, in no particular order.
class QueueVisitor {
 public:
  virtual void waiting(const NodeFacts& node, Rank rank) = 0;

 protected:
  ~QueueVisitor() = default;
};

/// An optional interface of an index that can order requests by their places in it (PrefixIndex::scheduling).
class SchedulingIndex {
 public:
  /// Orders requests that wait, so that those with a common prefix follow each other. `ends[i]` is the node in which
  /// the prefix of request i ends; none, or a node that has left the tree, stands for the root. `order` becomes a
  /// permutation of 0 .. ends.size() - 1. The order is depth first. Of the children of a node, the one with most
  /// requests in its subtree comes first; ties are broken by insertion order. The requests of a node come after those
  /// of its children, in the order given. The namespaces have one root here. Costs the nodes on the paths, not the
  /// tree; keeps the order given if there is no memory for that. REQUIRES: order.size() == ends.size().
  virtual void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const = 0;

 protected:
  ~SchedulingIndex() = default;
};

/// The part of an index that does not serve requests. Each function does nothing by default, which is right for an
/// index that keeps nothing; an index that keeps nodes implements them all, except scheduling().
class IndexUpkeep {
 public:
  virtual ~IndexUpkeep() = default;

  /// Evicts all of one namespace that is not locked.
  virtual GroupPages flush(NamespaceId space) { return static_cast<void>(space), GroupPages{}; }
  /// Forgets everything and returns all pages; locks taken before no longer hold anything.
  virtual GroupPages clear() { return {}; }

  virtual Sizes sizes(std::size_t group, NamespaceId space) const {
    return static_cast<void>(group), static_cast<void>(space), Sizes{};
  }
  /// Asks the system for memory figures: for reports, not for every operation.
  virtual IndexUse use() const { return {}; }
  virtual Tick now() const { return 0; }  ///< its logical clock

  /// Changes the limit of a group's pool, in units (PolicyClock::capacity).
  virtual void set_capacity(std::size_t group, std::uint64_t units) {
    static_cast<void>(group), static_cast<void>(units);
  }
  /// Replaces a group's policy and ranks the waiting nodes once. The caller keeps the policy, and its library, alive.
  virtual void use_policy(std::size_t group, EvictionStrategy* policy) {
    static_cast<void>(group), static_cast<void>(policy);
  }
  virtual void waiting(std::size_t group, QueueVisitor& visitor) const {
    static_cast<void>(group), static_cast<void>(visitor);
  }
  /// Gives page `from[i]` of `group` the number `to[i]`. REQUIRES: no lock holds any of them.
  virtual void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) {
    static_cast<void>(group), static_cast<void>(from), static_cast<void>(to);
  }
  /// Visits every node, parents before children, siblings in the order they came. For dumps, checkers and keyframes:
  /// the one walk that is O(tree).
  virtual void visit(NodeVisitor& visitor) const { static_cast<void>(visitor); }
  /// Returns null if the index does not order requests. The object lives as long as the index.
  virtual const SchedulingIndex* scheduling() const { return nullptr; }
};

}  // namespace canopy
