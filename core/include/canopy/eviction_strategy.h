#pragma once

#include <canopy/helpers/policy_text.h>
#include <canopy/policy_facts.h>

#include <compare>

namespace canopy {

/// All that a policy knows of a node.
struct NodeFacts {
  NodeId id{};
  NamespaceId space{};
  Units begin = 0, length = 0;  ///< depth at which the node starts, and its units
  std::uint32_t hits = 0;       ///< matches that used it (accounting: sglang counts inserts instead)
  std::uint32_t inserts = 0;    ///< inserts that ended in it, or in nodes evicted from below it
  std::uint32_t children = 0;
  std::int32_t priority = 0;  ///< the highest of the requests that inserted through it
  Tick created = 0;
  Tick last_access = 0;  ///< in this group; 0: not used since it was inserted
  Tick spared = 0;       ///< time of the last `spare` that kept it in this group; 0: never
  PolicyClock clock{};
  /// A word of the policy's own on every node, one for each group. It is 0 on a new node, and on all nodes when the
  /// group gets another policy. A split copies it to both halves.
  std::uint64_t* tag = nullptr;
  /// The parent's word. A use of a node is one of its parent, but not the other way round. Null, or a word that is 0:
  /// no parent is known.
  const std::uint64_t* parent_tag = nullptr;
};

/// The order of eviction: the smallest first, `minor` breaks ties, then the node's slot number.
struct Rank {
  std::uint64_t major = 0, minor = 0;
  friend constexpr auto operator<=>(const Rank&, const Rank&) = default;
};

/// The changes of a rank while its node only waits to be evicted.
enum class Volatility : std::uint32_t {
  none,   ///< it depends on the node's facts only: the index calls rank() when they change
  epoch,  ///< it drifts: the index ranks all waiting nodes again once per 2 % of capacity turned over
};

/// The nodes of a request's path, deepest first, while they are still locked.
class Path {
 public:
  /// Returns the next node, nearer to the root; false at the end. `facts.tag` may be written.
  virtual bool next(NodeFacts& facts) = 0;

 protected:
  ~Path() = default;
};

/// Decides which node is evicted first. Write your own if LRU keeps the wrong prefixes for your traffic: rank() is
/// enough. The index keeps the queue of nodes that may be evicted; a policy keeps no list of nodes, so it can be
/// replaced while the engine runs. It never calls the index and reads no clock of its own: the same input must give the
/// same decisions.
///
/// Thread: the index's. Errors: none. Exceptions: none; after one that escapes the engine evicts in the order of lru.
/// Memory: lists of its own, such as ghosts, in proportion to the pool at most.
class EvictionStrategy {
 public:
  static constexpr const char* kInterface = "canopy.EvictionStrategy/4.0";
  struct Context {};
  virtual ~EvictionStrategy() = default;

  /// Called when a node becomes evictable and whenever its facts change while it waits.
  virtual Rank rank(const NodeFacts& node) = 0;
  /// Ranks many nodes, `ranks[i]` of `nodes[i]`: where all waiting nodes are ranked again, some hundreds at a time. For
  /// policies for which a call costs more than a rank.
  virtual void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) {
    for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = rank(nodes[i]);
  }
  virtual Volatility volatility() const { return Volatility::none; }
  virtual PolicyText describe() const { return {}; }

  /// Second chance of the node that is evicted next: true keeps it and ranks it again. Called at most once per node and
  /// eviction, so a policy cannot stall an engine.
  virtual bool spare(const NodeFacts& node) { return static_cast<void>(node), false; }
  /// `node` is evicted from this group. For ghost lists and ageing.
  virtual void evicted(const NodeFacts& node, const Eviction& eviction) {
    static_cast<void>(node), static_cast<void>(eviction);
  }
  /// The index was cleared: all nodes are gone, without calls of `evicted`. Running requests hold nothing any longer,
  /// and `ended` may not be called for them.
  virtual void cleared() {}

  /// Returns the same value in every call.
  virtual Prints reads_prints() const { return Prints::none; }
  /// A request is about to be matched.
  virtual void arrived(const RequestFacts& request) { static_cast<void>(request); }
  /// A request that arrived has ended, as request.ending says: once for each arrival. Its path is still locked, and
  /// the tags on it may be set.
  virtual void ended(const RequestFacts& request, Path& path) { static_cast<void>(request), static_cast<void>(path); }
};

}  // namespace canopy
