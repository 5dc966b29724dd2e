#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/index_events.h>
#include <canopy/index_upkeep.h>
#include <canopy/types.h>

namespace canopy {

/// One kind of KV state. Its reach is the number of trailing units that must be resident for a boundary to be reusable,
/// and that a request locks when it uses the boundary. Full attention, a sliding window and a recurrent state differ in
/// this number only.
struct Group {
  const char* name = "";
  Units reach = kWholePath;
  std::uint64_t capacity = kUnlimited;   ///< units that the group's pool may hold, until set_capacity
  EvictionStrategy* eviction = nullptr;  ///< outlives the index, or is replaced by use_policy first
  /// Pages that one path may keep in a group with a reach, such as states; 0: any number. An insert that brings more
  /// evicts nodes from the root on, but not the one it ends in, nor any that is locked or has other children.
  std::uint32_t max_per_path = 0;
};

/// The receipt of a match. It holds the path until it is released or replaced, exactly once; in each group only the
/// pages of its last `reach` units. Lock{} holds nothing, and releasing it does nothing.
struct Lock {
  NodeId node = NodeId::none;
  Units length = 0;                      ///< matched units
  std::array<Units, kMaxGroups> from{};  ///< per group, the first depth that it covers
  Units full_length = 0;                 ///< Probe::full_length at the match; `length` when a node was held
};

/// A result of find(): a place in the index, which is not held. The next call that evicts may take it away.
struct Found {
  NodeId node = NodeId::none;  ///< node in which the prefix ends; none: nothing was found
  Units length = 0;            ///< units of the prefix
  Units full_length = 0;       ///< Probe::full_length
};

/// The result that a match of a key would have now.
struct Probe {
  Units length = 0;  ///< matched units
  /// Units that the whole-path groups have, at least `length`. It is larger where a window or a state is missing: the
  /// next state of this prefix is best kept near here.
  Units full_length = 0;
  std::array<std::uint64_t, kMaxGroups> evictable{};  ///< units of it that a lock would make protected
};

struct Inserted {
  Lock lock;             ///< the deeper lock; it replaces the one passed in
  Units had = 0;         ///< units of the key that were there already
  GroupPages spare;      ///< pages the caller brought for which the index has others: to be freed
  GroupPages evicted{};  ///< pages that the index had and gives up (Group::max_per_path)
};

struct InsertFacts {
  std::int32_t priority = 0;
  bool chunked = false;  ///< the request is still in its prefill: the insert is not yet a use of the prefix
  /// Id of the inserting request. If non-zero, the feed already contains these pages (RequestPages) and the index omits
  /// them.
  std::uint64_t request = 0;
  Units inserted = 0;  ///< units of the key that this request has inserted before, since it was matched last
};

/// A node from which `evict` is about to take pages, while they are still the index's. The path includes the nodes
/// above it, some of which may be evicted along with it. Spans are valid during the call.
struct Leaving {
  NodeFacts facts;                       ///< in the group that evicts
  std::span<const std::uint32_t> words;  ///< from the root to the node's end, and the overlap behind it
  GroupPages pages;                      ///< pages of the same units; 0 in a tombstone
};

/// Receives the nodes that leave an index, for a lower tier that keeps copies of them. It may not call the index.
class LeavingVisitor {
 public:
  virtual void leaving(const Leaving& node) = 0;

 protected:
  ~LeavingVisitor() = default;
};

/// Longest-prefix index over pages of `page_size` units: SGLang's RadixCache, or vLLM's block hash table, as an
/// interface. It knows keys, page numbers and locks. It allocates no page number, touches no KV byte and calls nothing
/// but its policies, visitors and IndexEvents. Pages that it gives up are in a result. It cuts keys and prefixes down
/// to whole pages itself.
///
///             changes recency   locks   counts a hit   splits a node           is a step of the clock
///   peek      no                no      no             no                      no
///   find      yes               no      no             where the prefix ends   yes
///   match     yes               yes     yes            where the prefix ends   yes
///   hold      yes               yes     yes            where a window begins   yes
///
/// insert, release and evict are each one step of the clock, too. An index may document other rules for recency and
/// hits (radix: accounting). Spans in results are valid until the next call.
///
/// Thread: one writer, the engine's. Errors: results that say so (Lock{}, Inserted::lock). Exceptions: none; the engine
/// records one that escapes as a violation and takes an empty result. Memory: an insert may keep less than it was given
/// and a match may find nothing (IndexUse::inserts_cut_short); evict, release and clear never fail for want of memory.
class PrefixIndex : public IndexUpkeep {
 public:
  static constexpr const char* kInterface = "canopy.PrefixIndex/9.0";
  struct Context {
    Units page_size = 1;
    Units overlap = 0;  ///< KeyCodec::overlap of the keys it will see
    std::span<const Group> groups;
    IndexEvents* events = nullptr;  ///< receives the changes; outlives the index. May be null (no feed configured)
  };

  virtual Probe peek(const Key& key) const = 0;
  /// Finds and locks the longest prefix that every group can serve.
  virtual Lock match(const Key& key, const RequestFacts& request) = 0;
  /// As match, but locks nothing and begins no request: for a scheduler that looks at many waiting requests. If the
  /// prefix ends inside a node, that node is split, so that the id stands for this depth as long as the node is there.
  virtual Found find(const Key& key) = 0;
  /// Locks the path to a node, as a match that ends there. `arrives` is the request that begins; null: policies are not
  /// called. Returns Lock{}, and nothing has changed, if the node has left the tree, if no boundary at its end can be
  /// reused any longer, or if memory ran out: then match again.
  virtual Lock hold(NodeId node, const RequestFacts* arrives = nullptr) = 0;
  /// Returns the pages under a lock of the units from depth `from` on, in path order. 0 where the lock holds no page of
  /// a group: in a tombstone, and before Lock::from. REQUIRES: from is a multiple of the page size, and at most
  /// lock.length.
  virtual GroupPages pages(const Lock& lock, Units from = 0) = 0;
  /// Returns the pages that a lock on the node would hold, likewise; nothing if the node has left the tree.
  virtual GroupPages pages(NodeId node, Units from = 0) = 0;
  /// Adds the whole pages of `key`, continuing below `lock`. `pages` covers the units from lock.length on, in every
  /// group; page 0: nothing is resident there.
  /// Pages up to the returned lock's depth now belong to the index, except Inserted::spare. Deeper pages stay with the
  /// caller. The returned lock is shallower than the key if the given lock was stale, if memory ran out, or if this
  /// index stores nothing.
  /// REQUIRES: key begins with the units under `lock`; `lock` was neither released nor replaced.
  virtual Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) = 0;
  /// Shrinks a lock, because decoding has moved past the window: it covers `group` from depth `from` on, in whole
  /// pages. If that would leave the lock with no page in any group, it keeps its last page in this group, so that the
  /// lock can still be identified. No effect on a whole-path group.
  virtual void relax(Lock& lock, std::size_t group, Units from) = 0;
  /// Releases a lock. `ended` is passed to the policies; null: they are not called. A lock that was released or
  /// replaced before changes nothing and is counted. Returns the pages of nodes that only this lock kept: no match
  /// could end in them.
  virtual GroupPages release(const Lock& lock, const RequestFacts* ended = nullptr) = 0;

  /// Frees at least `pages` pages of `group`, or all that may be evicted, whole nodes at a time, in the policy's order.
  /// An evicted node takes its pages in other groups along, and so does a leaf in which no match could end any longer:
  /// one with a tombstone in any group that no lock holds. `cause` (room or limit) is passed to the policies. `visitor`
  /// is called for each node chosen, children before parents, except for a node for which memory ran out.
  virtual GroupPages evict(std::size_t group, std::size_t pages, Cause cause = Cause::room,
                           LeavingVisitor* visitor = nullptr) = 0;

  using IndexUpkeep::sizes;
  virtual Sizes sizes(std::size_t group) const = 0;
};

}  // namespace canopy
