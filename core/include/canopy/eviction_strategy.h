#pragma once

#include <canopy/helpers/policy_text.h>
#include <canopy/policy_facts.h>

#include <compare>

namespace canopy {

/// The facts about a node that a policy receives.
struct NodeFacts {
  NodeId id{};
  NamespaceId space{};
  Units begin = 0, length = 0;  ///< depth at which the node starts, and its units
  std::uint32_t hits = 0;       ///< matches that used it (accounting: sglang counts inserts instead)
  std::uint32_t inserts = 0;    ///< inserts that ended in it, or in nodes evicted from below it
  std::uint32_t children = 0;
  std::int32_t priority = 0;  ///< highest priority of the request that created it and of these inserts
  Tick created = 0;
  Tick last_access = 0;  ///< last use in this group; 0: none so far
  Tick spared = 0;       ///< time of the last spare() that kept it in this group; 0: none so far
  PolicyClock clock{};
  /// A word for the policy, one for each node and group. It is 0 on a new node, and on all nodes when the group gets
  /// another policy. A split copies it to both halves.
  std::uint64_t* tag = nullptr;
  /// The parent's word. A use of a node is also a use of its parent. Null, or a word of 0: no parent is known.
  const std::uint64_t* parent_tag = nullptr;
};

/// The place of a node in the order of eviction: the smallest rank first; `minor` breaks ties, then the slot number.
struct Rank {
  std::uint64_t major = 0, minor = 0;
  friend constexpr auto operator<=>(const Rank&, const Rank&) = default;
};

/// Change of a rank while its node waits to be evicted.
enum class Volatility : std::uint32_t {
  none,   ///< the rank depends on the node's facts only: the index calls rank() when they change
  epoch,  ///< the rank drifts: the index also ranks all waiting nodes again, once per 2 % of the capacity inserted
};

/// The nodes of a request's path, deepest first, while they are still locked.
class Path {
 public:
  /// Reads the next node, nearer to the root. Returns false at the end. The policy may write *facts.tag.
  virtual bool next(NodeFacts& facts) = 0;

 protected:
  ~Path() = default;
};

/// Decides which node is evicted first. Write your own if LRU keeps the wrong prefixes for your traffic: rank() is
/// enough. The index keeps the queue of nodes that may be evicted; a policy keeps no list of nodes, so it can be
/// replaced while the engine runs. It never calls the index and reads no clock of its own: the same input must give the
/// same decisions.
///
/// Thread: the engine's; the index calls it.
/// Errors: none.
/// Exceptions: none may escape. If one does, the engine records a violation and continues with the ranks of lru.
/// Memory: its own lists, such as ghosts, at most in proportion to the pool.
class EvictionStrategy {
 public:
  static constexpr const char* kInterface = "canopy.EvictionStrategy/4.0";
  struct Context {};
  virtual ~EvictionStrategy() = default;

  /// Returns the rank of a node. Called when it becomes evictable, and whenever its facts change while it waits.
  virtual Rank rank(const NodeFacts& node) = 0;
  /// Writes the rank of nodes[i] to ranks[i]. Called with some hundreds of nodes at a time when all waiting nodes are
  /// ranked again. Override it if the call costs more than the rank.
  virtual void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) {
    for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = rank(nodes[i]);
  }
  virtual Volatility volatility() const { return Volatility::none; }
  virtual PolicyText describe() const { return {}; }

  /// Returns true to keep the node that is evicted next (a second chance): it is ranked again. Called at most once per
  /// node and eviction, so that a policy cannot stall an engine.
  virtual bool spare(const NodeFacts& node) { return static_cast<void>(node), false; }
  /// Receives a node that is evicted from this group. For ghost lists and ageing.
  virtual void evicted(const NodeFacts& node, const Eviction& eviction) {
    static_cast<void>(node), static_cast<void>(eviction);
  }
  /// Forgets all nodes: the index was cleared, without calls of evicted(). Running requests no longer hold a path, and
  /// ended() may not be called for them.
  virtual void cleared() {}

  /// Returns the prints that the policy reads, the same in every call.
  virtual Prints reads_prints() const { return Prints::none; }
  /// Receives a request that is about to be matched.
  virtual void arrived(const RequestFacts& request) { static_cast<void>(request); }
  /// Receives the end of a request (request.ending), once for each arrival. Its path is still locked, and the policy
  /// may write the tags on it.
  virtual void ended(const RequestFacts& request, Path& path) { static_cast<void>(request), static_cast<void>(path); }
};

}  // namespace canopy
