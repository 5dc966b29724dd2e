#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/index_events.h>
#include <canopy/index_upkeep.h>
#include <canopy/tenant_index.h>
#include <canopy/types.h>

namespace canopy {

/// One kind of KV state. Its reach is the number of trailing units that must be resident for a boundary to be reusable,
/// and that a request locks when it uses the boundary. Full attention, a sliding window and a recurrent state differ in
/// this number only.
struct Group {
  const char* name = "";
  Units reach = kWholePath;
  std::uint64_t capacity = kUnlimited;   ///< units that the group's pool may hold, until set_capacity
  EvictionStrategy* eviction = nullptr;  ///< policy; it outlives the index, or use_policy() replaces it first
  /// Most pages that one path may keep in a group with a reach, such as states; 0: any number. An insert that exceeds
  /// it evicts the group's pages from the nodes of its path, from the root on, but not from the node in which it ends,
  /// from locked nodes, or from nodes with other children.
  std::uint32_t max_per_path = 0;
};

/// The receipt of a match. It holds the path, in each group the pages of the last `reach` units, until it is released
/// or replaced. REQUIRES: either happens exactly once. Lock{} holds nothing, and releasing it has no effect.
struct Lock {
  LockId id = LockId::none;              ///< none: it holds nothing
  NodeId node = NodeId::none;            ///< node in which the prefix ends, as find() returns it
  Units length = 0;                      ///< matched units
  std::array<Units, kMaxGroups> from{};  ///< per group, the first depth that it covers
  Units full_length = 0;                 ///< Probe::full_length at the match; `length` for a lock by hold()
};

/// The result of find(): a place in the index. It is not locked: the next call that evicts may remove it.
struct Found {
  NodeId node = NodeId::none;  ///< node in which the prefix ends; none: nothing was found
  Units length = 0;            ///< units of the prefix
  Units full_length = 0;       ///< Probe::full_length
};

/// The result that a match of a key would have now.
struct Probe {
  Units length = 0;  ///< matched units
  /// Units of the key that are resident in the whole-path groups, at least `length`. It is larger if a window or a
  /// state is missing; the next state of this prefix is best kept near that depth.
  Units full_length = 0;
  std::array<std::uint64_t, kMaxGroups> evictable{};  ///< evictable units of the match, which a lock would protect
};

/// The result of insert().
struct Inserted {
  Lock lock;             ///< the deeper lock; it replaces the one passed in
  Units had = 0;         ///< units of the key that the index already had
  GroupPages spare;      ///< pages of the caller that the index does not take, since it has others: free them
  GroupPages evicted{};  ///< pages of the index that it gives up (Group::max_per_path): free them
};

/// Facts about an insert.
struct InsertFacts {
  std::int32_t priority = 0;
  bool chunked = false;  ///< true during the request's prefill: the insert is not a use of the prefix yet
  /// Id of the inserting request, if the feed already contains its pages (RequestPages): the index then does not report
  /// them. 0: it reports them.
  std::uint64_t request = 0;
  Units inserted = 0;  ///< units of the key that this request has inserted since its last match
};

/// A node that evict() is about to evict, while its pages still belong to the index. The spans cover its path from the
/// root, some nodes of which may be evicted along with it. They are valid during the call.
struct Leaving {
  NodeFacts facts;                       ///< facts in the group that evicts
  std::span<const std::uint32_t> words;  ///< words from the root to the end of the node, then the overlap
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
/// interface. It handles keys, page numbers and locks. It allocates no page number, touches no KV byte, and calls only
/// its policies, visitors and IndexEvents. It returns the pages that it gives up. It shortens keys and prefixes to
/// whole pages itself.
///
///             changes recency   locks   counts a hit   splits a node           advances the clock
///   peek      no                no      no             no                      no
///   find      yes               no      no             where the prefix ends   yes
///   match     yes               yes     yes            where the prefix ends   yes
///   hold      yes               yes     yes            where a window begins   yes
///
/// insert, release and evict advance the clock as well. An index may document other rules for recency, hits and the
/// clock (radix: accounting). Spans in results are valid until the next call.
///
/// Thread: the engine's.
/// Errors: in results (Lock{}, Inserted::lock).
/// Exceptions: none may escape. If one does, the engine records a violation and continues with an empty result.
/// Memory: if there is none, an insert keeps less than it was given and a match finds nothing
/// (IndexUse::inserts_cut_short); evict, release and clear never fail for lack of memory.
class PrefixIndex : public IndexUpkeep {
 public:
  static constexpr const char* kInterface = "canopy.PrefixIndex/13.0";
  struct Context {
    Units page_size = 1;
    Units overlap = 0;  ///< KeyCodec::overlap of the index's keys
    std::span<const Group> groups;
    IndexEvents* events = nullptr;  ///< receives the changes; outlives the index. May be null (no feed configured)
  };

  /// Returns the result that match() would have now. Changes nothing.
  virtual Probe peek(const Key& key) const = 0;
  /// Finds and locks the longest prefix that every group can serve. Returns Lock{} if there is none.
  virtual Lock match(const Key& key, const RequestFacts& request) = 0;
  /// Finds the same prefix, but locks nothing and begins no request: for a scheduler that looks at many waiting
  /// requests. If the prefix ends inside a node, splits it there, so that the id stands for this depth while it exists.
  virtual Found find(const Key& key) = 0;
  /// Loads the memory that calls with these keys will read into the processor's caches, for all keys at the same time:
  /// a scheduler that looks at many waiting requests calls it before find(). Changes nothing; results never depend on
  /// it.
  virtual void prefetch(std::span<const Key> keys) const { static_cast<void>(keys); }
  /// Locks the path to a node, like a match that ends there. `arrives`: the request that begins; null: policies are not
  /// called. Returns Lock{}, and changes nothing, if the node has left the tree, if the boundary at its end can no
  /// longer be reused, or if memory ran out: then match again.
  virtual Lock hold(NodeId node, const RequestFacts* arrives = nullptr) = 0;
  /// Returns the pages that a lock holds of the units from depth `from` on, in path order; 0 where it holds no page of
  /// a group: in a tombstone, and before Lock::from. REQUIRES: `from` is a multiple of the page size, and at most
  /// lock.length.
  virtual GroupPages pages(const Lock& lock, Units from = 0) = 0;
  /// Returns the pages that a lock on the node would hold, in the same form; nothing if the node has left the tree.
  virtual GroupPages pages(NodeId node, Units from = 0) = 0;
  /// Adds the whole pages of `key` below `lock`. `pages` covers the units from lock.length on in every group; page 0:
  /// the caller has none there, and the index keeps its own if it has one. Pages up to the depth of the returned lock
  /// then belong to the index, except Inserted::spare; deeper pages stay with the caller. The returned lock is
  /// shallower than the key if `lock` was stale, if memory ran out, or if the index stores nothing. REQUIRES: `key`
  /// begins with the units under `lock`, which was neither released nor replaced.
  virtual Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) = 0;
  /// Shrinks a lock when decoding has moved past the window: it then covers `group` from depth `from` on, in whole
  /// pages. A lock that would have no page left in any group keeps its last page in this group, which identifies it.
  /// Has no effect in a whole-path group.
  virtual void relax(Lock& lock, std::size_t group, Units from) = 0;
  /// Releases a lock. `ended` is passed to the policies; null: they are not called. Returns the pages of nodes that
  /// only this lock kept in the tree: nodes in which no match could end. A lock that is known to be stale changes
  /// nothing and is counted (IndexUse::refused). REQUIRES: the lock was neither released nor replaced.
  virtual GroupPages release(const Lock& lock, const RequestFacts* ended = nullptr) = 0;

  /// Evicts whole nodes in the policy's order until `pages` pages of `group` are free, or none is left to evict.
  /// Returns all freed pages. A leaf that no lock holds leaves with its pages in all groups; any other node becomes a
  /// tombstone of `group`, and of the groups with a smaller reach in which no lock holds it. A dead leaf leaves at
  /// once: no lock holds it, and it is a tombstone of some group. `cause` (room or limit) is passed to the policies.
  /// `visitor` is called for each node that the order selects, children before parents, except if memory runs out for
  /// that node.
  virtual GroupPages evict(std::size_t group, std::size_t pages, Cause cause = Cause::room,
                           LeavingVisitor* visitor = nullptr) = 0;

  using IndexUpkeep::sizes;
  /// Returns the resident units of a group in all namespaces.
  virtual Sizes sizes(std::size_t group) const = 0;
};

}  // namespace canopy
