#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

#include <numeric>

namespace canopy {

/// In units. evictable + protected_ = resident.
struct Sizes {
  std::uint64_t evictable = 0, protected_ = 0;
};

/// What an index costs, measured, not estimated.
struct IndexUse {
  std::uint64_t nodes = 0;    ///< without roots
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

/// Hears of each node that waits to be evicted and its rank, in no particular order.
class QueueVisitor {
 public:
  virtual void waiting(const NodeFacts& node, Rank rank) = 0;

 protected:
  ~QueueVisitor() = default;
};

/// What an index does beside serving requests. Each function does nothing by default, which is right for an index that
/// keeps nothing; an index that keeps nodes implements them all.
class IndexUpkeep {
 public:
  virtual ~IndexUpkeep() = default;

  /// Evicts all of one namespace that is not locked.
  virtual GroupPages flush(NamespaceId space) { return static_cast<void>(space), GroupPages{}; }
  /// Forgets everything. The pages return in the result; locks taken before hold nothing any more.
  virtual GroupPages clear() { return {}; }

  virtual Sizes sizes(std::size_t group, NamespaceId space) const {
    return static_cast<void>(group), static_cast<void>(space), Sizes{};
  }
  /// Asks the system for memory figures: for reports, not for every operation.
  virtual IndexUse use() const { return {}; }
  virtual Tick now() const { return 0; }  ///< its logical clock

  /// A group's pool has another limit now, in units: what PolicyClock::capacity tells policies.
  virtual void set_capacity(std::size_t group, std::uint64_t units) {
    static_cast<void>(group), static_cast<void>(units);
  }
  /// Replaces a group's policy. Nodes that wait are ranked anew, once.
  virtual void use_policy(std::size_t group, EvictionStrategy* policy) {
    static_cast<void>(group), static_cast<void>(policy);
  }
  virtual void waiting(std::size_t group, QueueVisitor& visitor) const {
    static_cast<void>(group), static_cast<void>(visitor);
  }
  /// Page `from[i]` of `group` is relocated to `to[i]`. REQUIRES: no lock holds any of them.
  virtual void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) {
    static_cast<void>(group), static_cast<void>(from), static_cast<void>(to);
  }
  /// Orders requests that wait, so that those with a common prefix follow each other. `ends[i]` is the node in which
  /// the prefix of request i ends; none, or a node that has left the tree, stands for the root. `order` becomes a
  /// permutation of 0 .. ends.size() - 1. The order is depth first. Of the children of a node, the one with most
  /// requests in its subtree comes first; of as many, the one that was inserted first. The requests of a node come
  /// after those of its children, in the order given. The namespaces have one root here. Costs the nodes on the paths,
  /// not the tree. The default keeps the order given, as an index does that has no memory for it. REQUIRES:
  /// order.size() == ends.size().
  virtual void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const {
    static_cast<void>(ends), std::iota(order.begin(), order.end(), 0U);
  }
  /// Every node, parents before children, siblings in the order they came. For dumps, checkers and keyframes: the one
  /// walk that is O(tree).
  virtual void visit(NodeVisitor& visitor) const { static_cast<void>(visitor); }
};

}  // namespace canopy
