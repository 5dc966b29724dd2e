#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

namespace canopy {

class TenantIndex;

/// Resident units of a group: those that may be evicted, and those that locks protect.
struct Sizes {
  std::uint64_t evictable = 0, protected_ = 0;
};

/// Cost of an index, measured, not estimated.
struct IndexUse {
  std::uint64_t nodes = 0;    ///< nodes, without roots
  std::uint64_t bytes = 0;    ///< memory obtained from the system: the resident pages of all tables
  std::uint64_t refused = 0;  ///< calls with a lock that was stale or already released; they changed nothing
  /// Inserts that added less than they were given, and matches that found nothing, because the system had no memory. If
  /// there are any, hits are lost, and every figure about hits is wrong.
  std::uint64_t inserts_cut_short = 0;
};

/// A node as a visitor receives it. Spans are valid during the call.
struct NodeView {
  NodeFacts facts;
  NodeId parent{};                                ///< none: a child of its namespace's root
  std::span<const std::uint32_t> words;           ///< its length + overlap words
  GroupPages pages;                               ///< empty where the node is a tombstone of the group
  std::array<std::uint32_t, kMaxGroups> locks{};  ///< exact number of locks that hold the node, by group
};

/// Receives the nodes of an index.
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
  /// Orders waiting requests so that those with a common prefix follow each other. `ends[i]` is the node in which the
  /// prefix of request i ends; `none`, or a node that has left the tree, stands for the root. `order` becomes a
  /// permutation of 0 .. ends.size() - 1. The order is depth first. Of the children of a node, the one with the most
  /// requests in its subtree comes first; ties are broken by insertion order. The requests of a node come after those
  /// of its children, in the given order. All namespaces share one root here. The cost grows with the nodes on the
  /// paths, not with the tree. If memory runs out, `order` is the given order. REQUIRES: order.size() == ends.size().
  virtual void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const = 0;

 protected:
  ~SchedulingIndex() = default;
};

/// The part of an index that does not serve requests. By default each function does nothing, which is right for an
/// index that keeps nothing. An index that keeps nodes overrides all of them; only scheduling() and tenants() are
/// optional.
class IndexUpkeep {
 public:
  virtual ~IndexUpkeep() = default;

  /// Evicts everything in a namespace that is not locked, and returns its pages.
  virtual GroupPages flush(NamespaceId space) { return static_cast<void>(space), GroupPages{}; }
  /// Forgets everything and returns all pages. Existing locks no longer hold anything.
  virtual GroupPages clear() { return {}; }

  virtual Sizes sizes(std::size_t group, NamespaceId space) const {
    return static_cast<void>(group), static_cast<void>(space), Sizes{};
  }
  /// Returns the cost of the index. It reads memory figures from the system: for reports, not for every operation.
  virtual IndexUse use() const { return {}; }
  virtual Tick now() const { return 0; }  ///< time on the logical clock

  /// Sets the limit of a group's pool, in units (PolicyClock::capacity).
  virtual void set_capacity(std::size_t group, std::uint64_t units) {
    static_cast<void>(group), static_cast<void>(units);
  }
  /// Replaces a group's policy and ranks the waiting nodes once. Returns false, and changes nothing, if the index
  /// cannot evict in the order of this policy. REQUIRES: the policy and its library outlive the index, or the next
  /// use_policy() of the group that returns true.
  virtual bool use_policy(std::size_t group, EvictionStrategy* policy) {
    return static_cast<void>(group), static_cast<void>(policy), true;
  }
  /// Visits every node of a group that waits to be evicted.
  virtual void waiting(std::size_t group, QueueVisitor& visitor) const {
    static_cast<void>(group), static_cast<void>(visitor);
  }
  /// Gives page `from[i]` of `group` the number `to[i]`. Changes nothing if it throws, for want of memory for example.
  /// REQUIRES: no lock holds any of them.
  virtual void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) {
    static_cast<void>(group), static_cast<void>(from), static_cast<void>(to);
  }
  /// Visits every node, parents before children, siblings in the order in which they came. Costs O(tree): for dumps,
  /// checks and keyframes.
  virtual void visit(NodeVisitor& visitor) const { static_cast<void>(visitor); }
  /// Returns the interface for ordering requests, valid as long as the index. May be null (the index has none).
  virtual const SchedulingIndex* scheduling() const { return nullptr; }
  /// Returns the interface for tenants, valid as long as the index. May be null (the index keeps no tenants apart).
  virtual TenantIndex* tenants() { return nullptr; }
};

}  // namespace canopy
