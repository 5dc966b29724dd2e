#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/types.h>

namespace canopy {

class FeedWriter;  // of <canopy/feed/...>, which an index includes that tells the feed

/// One kind of KV state, told by its reach: how many trailing units must be resident for a boundary to be
/// reusable, and so stay held under a request that uses it. Full attention, a sliding window and a recurrent
/// state differ in this number only.
struct Group {
  const char* name = "";
  Units reach = kWholePath;
  std::uint64_t capacity = kUnlimited;   ///< units the group's pool can hold, until set_capacity says otherwise
  EvictionStrategy* eviction = nullptr;  ///< outlives the index, or is replaced by use_policy first
};

/// Receipt of a match: holds the path until it is released or replaced, exactly once; in each group the pages
/// of its last `reach` units and no others. Lock{} holds nothing, and releasing it does nothing.
struct Lock {
  NodeId node = NodeId::none;
  Units length = 0;                      ///< matched units
  std::array<Units, kMaxGroups> from{};  ///< per group, the depth at which its hold begins
};

/// What a match of a key would find now.
struct Probe {
  Units length = 0;                                   ///< units
  std::array<std::uint64_t, kMaxGroups> evictable{};  ///< units of it that a lock would make protected
};

struct Inserted {
  Lock lock;         ///< the deeper lock; it replaces the one passed in
  Units had = 0;     ///< units of the key that were there already
  GroupPages spare;  ///< pages the caller brought for those and for which the index has others: to be freed
};

/// In units. evictable + protected_ = resident.
struct Sizes {
  std::uint64_t evictable = 0, protected_ = 0;
};

struct InsertFacts {
  std::int32_t priority = 0;
  bool chunked = false;  ///< a request that is still running its prefill: not yet a use of the prefix
};

/// What an index costs, measured, not estimated.
struct IndexUse {
  std::uint64_t nodes = 0;    ///< without roots
  std::uint64_t bytes = 0;    ///< memory the index holds from the system: resident pages of all its tables
  std::uint64_t refused = 0;  ///< calls with a lock that was stale or not held; each changed nothing
};

/// A node as a visitor sees it. Spans are valid during the call.
struct NodeView {
  NodeFacts facts;
  NodeId parent{};                                ///< none: a child of its namespace's root
  std::span<const std::uint32_t> words;           ///< length + overlap of them
  GroupPages pages;                               ///< empty where the group has a gap
  std::array<std::uint32_t, kMaxGroups> locks{};  ///< true reference counts: locks that hold this node
};

class NodeVisitor {
 public:
  virtual void node(const NodeView& node) = 0;

 protected:
  ~NodeVisitor() = default;
};

/// Who waits to leave, and by which rank; in no particular order.
class QueueVisitor {
 public:
  virtual void waiting(const NodeFacts& node, Rank rank) = 0;

 protected:
  ~QueueVisitor() = default;
};

/// Longest-prefix index over pages of `page_size` units. Knows keys, page numbers and locks; allocates no
/// page number, touches no KV byte, calls nobody but the policies it was given. Pages it stops needing leave
/// in a result. Keys and prefixes are cut down to whole pages by the index itself.
///
/// One writer. match, insert, release and evict are each one step of the logical clock. Spans in results are
/// valid until the next call.
class PrefixIndex {
 public:
  static constexpr const char* kInterface = "canopy.PrefixIndex/4";
  struct Context {
    Units page_size = 1;
    Units overlap = 0;  ///< KeyCodec::overlap of the keys it will see
    std::span<const Group> groups;
    FeedWriter* feed = nullptr;  ///< hears of every change while it is on; outlives the index
  };
  virtual ~PrefixIndex() = default;

  /// What match would find. Changes nothing: no split, no recency, no tick.
  virtual Probe peek(const Key& key) const = 0;
  /// Finds and locks the longest prefix that every group can serve.
  virtual Lock match(const Key& key, const RequestFacts& request) = 0;
  /// The pages under a lock of the units from depth `from` on, in path order; 0 where the lock holds nothing of
  /// a group: in a gap, and before Lock::from. REQUIRES: from is a multiple of the page size, and at most
  /// lock.length.
  virtual GroupPages pages(const Lock& lock, Units from = 0) = 0;
  /// Adds the whole pages of `key`, continuing below `lock`. `pages` covers the units from lock.length on, in
  /// every group; page 0: nothing resident there. Up to the depth of the lock it returns the index owns them from
  /// now on, all but Inserted::spare; beyond, they are the caller's still: it keeps nothing below a stale lock,
  /// without memory, or by its nature.
  /// REQUIRES: key begins with the units under `lock`; `lock` was neither released nor replaced.
  virtual Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) = 0;
  /// Decode has moved past the window: `group` need be held from depth `from` only, whole pages of it. A lock
  /// that would hold nothing in any group keeps its last page in this one: it is what it is known by. Without
  /// effect on a whole-path group.
  virtual void relax(Lock& lock, std::size_t group, Units from) = 0;
  /// Lets go. `finished` tells the policies how the request ended; null: it was aborted or set aside.
  /// REQUIRES: `lock` was neither released nor replaced. One that was changes nothing and is counted.
  virtual void release(const Lock& lock, const RequestFacts* finished = nullptr) = 0;

  /// Frees at least `pages` pages of `group`, or all that may leave, whole nodes at a time, in the policy's
  /// order. What leaves takes its pages in other groups along.
  virtual GroupPages evict(std::size_t group, std::size_t pages) = 0;
  /// All of one namespace that is not locked.
  virtual GroupPages flush(NamespaceId space) = 0;
  /// Forgets everything; pages return in the result, locks taken before hold nothing any more.
  virtual GroupPages clear() = 0;

  virtual Sizes sizes(std::size_t group) const = 0;
  virtual Sizes sizes(std::size_t group, NamespaceId space) const = 0;
  /// Asks the system: for reports, not for every operation.
  virtual IndexUse use() const = 0;
  virtual Tick now() const = 0;  ///< its logical clock

  /// A group's pool can hold so many units from now on: what PolicyClock tells policies.
  virtual void set_capacity(std::size_t group, std::uint64_t units) = 0;

  /// Replaces a group's policy; those who wait are ranked anew, once.
  virtual void use_policy(std::size_t group, EvictionStrategy* policy) = 0;
  virtual void waiting(std::size_t group, QueueVisitor& visitor) const = 0;
  /// Page `from[i]` of `group` is called `to[i]` from now on. REQUIRES: no lock holds any of them.
  virtual void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) = 0;
  /// Every node, parents before children, siblings in the order they came. For dumps, checkers and keyframes:
  /// the one walk that is O(tree).
  virtual void visit(NodeVisitor& visitor) const = 0;
};

}  // namespace canopy
