#pragma once

#include <canopy/types.h>

#include <compare>

namespace canopy {

/// What a policy may know about time and pressure, in tokens of its group. It has no wall clock, so a recording replays
/// to the same decisions.
struct PolicyClock {
  std::uint64_t allocated = 0;  ///< inserted since the index was made: the work clock
  std::uint64_t used = 0;       ///< resident now
  std::uint64_t capacity = kUnlimited;
  Tick now = 0;
};

/// All that a policy knows of a node.
struct NodeFacts {
  NodeId id{};
  NamespaceId space{};
  Units begin = 0, length = 0;  ///< depth where the node starts, and its units
  std::uint32_t hits = 0;       ///< matches that used it   (accounting: sglang counts inserts instead)
  std::uint32_t inserts = 0;    ///< inserts that ended in it, or in nodes evicted from below it
  std::uint32_t children = 0;
  std::int32_t priority = 0;  ///< highest of the requests that inserted through it
  Tick created = 0;
  Tick last_access = 0;  ///< in this group; 0: not used since it was inserted
  Tick spared = 0;       ///< when this group's policy last kept it by `spare`; 0 never
  PolicyClock clock{};
  /// A word of the policy's own on every node: each group has another. It is 0 on a new node, and on all nodes when the
  /// group gets another policy. A split copies it to both halves.
  std::uint64_t* tag = nullptr;
  /// The parent's word. Each use of a node is one of its parent, but not the other way round. Null, or a word that is 0:
  /// the node has no parent that a policy knows.
  const std::uint64_t* parent_tag = nullptr;
};

/// Key words between two prints of a prefix: prints[i] names the first (i + 1) * kPrintStride words in their namespace,
/// so equal prints mean equal prefixes, of requests and of nodes alike (<canopy/prefix_print.h> makes them).
inline constexpr std::size_t kPrintStride = 512;

/// Which prefix_prints a policy wants to be told.
enum class Prints : std::uint32_t {
  none,
  requests,  ///< with `arrived` and `ended`: a pass over each prompt
  all,       ///< with `evicted` as well: a pass over the path of each evicted node
};

/// How a request ended.
enum class Ending : std::uint32_t {
  none,       ///< it has not ended
  finished,   ///< normally
  aborted,    ///< by its client, or because it could not run
  retracted,  ///< preempted; if it comes back, it arrives again under the same id
};

/// What clients may tell in RequestFacts::hints. A policy may learn what such a hint is worth, believe it, or not look.
/// Bits without a name here are the client's own.
namespace hint {

inline constexpr std::uint64_t kSessionEnded = 1;     ///< no further request of this conversation is expected
inline constexpr std::uint64_t kToolCallPending = 2;  ///< the next one comes as soon as a tool has answered
inline constexpr std::uint32_t kMostClass = 7;
/// The kind of request, such as chat or batch, as a number of the client's choice up to kMostClass; 0: not told.
constexpr std::uint64_t of_class(std::uint32_t number) { return std::uint64_t{number} << 8; }
constexpr std::uint32_t class_in(std::uint64_t hints) { return hints >> 8 & kMostClass; }

}  // namespace hint

/// All that a policy knows of a request.
struct RequestFacts {
  NamespaceId space{};
  std::int32_t priority = 0;
  std::uint32_t prompt = 0, matched = 0;  ///< tokens
  std::uint32_t output = 0;               ///< tokens; all of them when it has ended
  std::uint64_t hints = 0;                ///< bits of its client, passed through; some have names in canopy::hint
  /// The whole strides of its prompt. Empty if all policies in use read Prints::none.
  std::span<const std::uint64_t> prefix_prints{};
  PolicyClock clock{};
  std::uint64_t id = 0;  ///< the same in `arrived` and `ended`, no other request's
  Ending ending = Ending::none;
};

/// Why a node's pages leave a group.
enum class Cause : std::uint32_t {
  room,         ///< this group needed pages
  other_group,  ///< the node left a group that needed pages, and took these along
  limit,        ///< this group's pool has a lower limit
  path_limit,   ///< its path has more of the group's pages than it may keep (Group::max_per_path)
  flush,        ///< the node's namespace was flushed
  no_use,       ///< the pages of another group left, or never came, and no match could end in the node any more
};

/// How a node is evicted from a group.
struct Eviction {
  Cause cause = Cause::room;
  /// The whole strides of the node's path, up to the node's end. Empty unless the policy reads Prints::all.
  std::span<const std::uint64_t> prefix_prints{};
};

/// The order of eviction: the smallest first, `minor` breaks ties, then the node's slot number.
struct Rank {
  std::uint64_t major = 0, minor = 0;
  friend constexpr auto operator<=>(const Rank&, const Rank&) = default;
};

/// Does a rank change while its node only waits to be evicted?
enum class Volatility : std::uint32_t {
  none,   ///< it depends on the node's facts alone: the index asks again when they change
  epoch,  ///< it drifts: the index ranks every waiting node anew once per 2 % of capacity turned over
};

/// A policy in words, for the inspector, `canopy top` and reports. The strings live as long as the policy.
struct PolicyText {
  /// What is evicted first, as a clause: "what was used longest ago is evicted first".
  const char* rule = "";
  /// How a person reads a rank, with {major} and {minor} in it: "{major} hits, used {minor:ago}". Behind a colon:
  ///   ago        a tick: how long before now          ~ago   the complement of a tick
  ///   signed     a number from INT32_MIN on           real   the bits of a positive double
  ///   number     any double, turned so that words compare as numbers do: all bits of a negative one, else the top bit
  ///   no|yes     one of these words, by value; the last one for all larger values
  /// Behind a full stop, in front of the colon, some bits of it, 0 the lowest: "{minor.0-1:never|once|more often}".
  /// Empty: the rank's two numbers.
  const char* rank = "";
};

/// The nodes of a request's path, deepest first, while they are still locked.
class Path {
 public:
  /// The next node, nearer to the root; false at the end. `facts.tag` may be written.
  virtual bool next(NodeFacts& facts) = 0;

 protected:
  ~Path() = default;
};

/// Decides which node is evicted first. Write your own if LRU keeps the wrong prefixes for your traffic: a rank is
/// enough. The index keeps the queue of nodes that may be evicted; a policy keeps no list of nodes, so it can be
/// replaced while the engine runs.
///
/// A policy never calls the index, never reads a clock of its own and never throws. One that does breaks the engine's
/// promise that the same input gives the same decisions.
class EvictionStrategy {
 public:
  static constexpr const char* kInterface = "canopy.EvictionStrategy/4";
  struct Context {};
  virtual ~EvictionStrategy() = default;

  /// Asked when a node becomes evictable and whenever its facts change while it waits.
  virtual Rank rank(const NodeFacts& node) = 0;
  /// rank() of many nodes at once, `ranks[i]` of `nodes[i]`: where all nodes that wait are ranked anew, some hundreds
  /// at a time. For policies to which a call costs more than a rank.
  virtual void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) {
    for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = rank(nodes[i]);
  }
  virtual Volatility volatility() const { return Volatility::none; }
  virtual PolicyText describe() const { return {}; }

  /// Second chance, asked of the node that is evicted next: true keeps it and ranks it anew. Asked at most once per
  /// node and eviction, so a policy cannot stall an engine.
  virtual bool spare(const NodeFacts& node) { return static_cast<void>(node), false; }
  /// `node` is evicted from this group. For ghost lists and ageing.
  virtual void evicted(const NodeFacts& node, const Eviction& eviction) {
    static_cast<void>(node), static_cast<void>(eviction);
  }
  /// The index was cleared: all nodes are gone, and `evicted` is not told of them. Requests that still run hold nothing
  /// any more, and their ends may not be told.
  virtual void cleared() {}

  /// Always the same answer.
  virtual Prints reads_prints() const { return Prints::none; }
  /// A request is about to be matched.
  virtual void arrived(const RequestFacts& request) { static_cast<void>(request); }
  /// A request that arrived has ended, as request.ending says: once for each arrival. Its path is still locked, and
  /// the tags on it may be set.
  virtual void ended(const RequestFacts& request, Path& path) { static_cast<void>(request), static_cast<void>(path); }
};

}  // namespace canopy
