#pragma once

#include <canopy/feed/events.h>

#include <unordered_map>
#include <unordered_set>

#include "mirror_state.h"
#include "mirror_watcher.h"

namespace canopy::inspector {

/// No engine has that many namespaces: an event with such a number or a higher one is damaged, and is skipped. Tables
/// by the number of a namespace rely on it.
inline constexpr std::uint32_t kMostSpaces = std::uint32_t{1} << 22;

/// No engine of this machine has that many slots: such a recording is damaged, and the event is skipped.
inline constexpr std::uint32_t kMostSlots = std::uint32_t{1} << 27;

/// Applies events to a mirror's state: one function per kind. A damaged recording may contain anything, so each
/// function checks its event and skips impossible ones.
class Apply {
 public:
  explicit Apply(MirrorState& state, MirrorWatcher* watcher = nullptr) : state_(state), watcher_(watcher) {}

  /// Applies an event of any kind; counts an event of an unknown kind.
  void event(const Event& event);
  /// Counts an event with values that no engine sends.
  void invalid() { ++state_.damaged; }
  /// Finds the nodes that a commit clears and then adds again, with their ids: they stay, and only their places change.
  /// Call it before the commit's events.
  void look_ahead(std::span<const Event> events);
  /// Removes the nodes that a damaged recording has cleared and not added again. Call it after the commit's events.
  void settle_places();
  /// Turns the locks reported by a keyframe into counts. Call it after the keyframe's events.
  void settle_locks();
  /// Compares the pages of added nodes with those that were evicted. Call it after the commit's events.
  void settle_nodes();

  // Nodes: apply_nodes.cpp; the last one: apply_cleared.cpp.
  void operator()(const event::NodeAdded& added);
  void operator()(const event::NodeNamed& named);
  void operator()(const event::NodeDigests& some);
  void operator()(const event::NodeWords& some);
  void operator()(const event::NodeSplit& split);
  void operator()(const event::NodeJoined& joined);
  void operator()(const event::NodeRemoved& removed);
  void operator()(const event::NodeTombstoned& tombstoned);
  void operator()(const event::NodeUsed& used);
  void operator()(const event::NodeCreated& created);
  void operator()(const event::NodeHistory& history);
  void operator()(const event::NodeRanked& ranked);
  void operator()(const event::Cleared&);
  // Locks: apply_locks.cpp.
  void operator()(const event::NodeLocks& held);
  void operator()(const event::Locked& locked);
  void operator()(const event::Unlocked& unlocked);
  void operator()(const event::Relocked& relocked);
  void operator()(const event::Relaxed& relaxed);
  void operator()(const event::Pinned& pinned);
  // Pages and pools: apply_pages.cpp.
  void operator()(const event::NodePages& pages);
  void operator()(const event::RequestPages& pages);
  void operator()(const event::Freed& freed);
  void operator()(const event::PoolSized& sized);
  void operator()(const event::SegmentChanged& changed);
  void operator()(const event::Totals& totals);
  void operator()(const event::CallersPool& pool);
  // The tiers: apply_tiers.cpp.
  void operator()(const event::CounterValue& counter);
  void operator()(const event::StorageHealth& health);
  void operator()(const event::NodeBrought& brought);
  // Tenants: apply_tenants.cpp.
  void operator()(const event::TenantShare& share);
  void operator()(const event::TenantOfSpace& of);
  void operator()(const event::TenantEvicted& evicted);
  void operator()(const event::EvictedFor& evicted);
  // Requests: apply_requests.cpp.
  void operator()(const event::RequestBegun& begun);
  void operator()(const event::RequestAdmitted& admitted);
  void operator()(const event::RequestProgress& progress);
  // Texts: apply.cpp.
  void operator()(const event::TextPiece& piece);
  // Handled by Mirror::take_commit and Mirror::commit.
  void operator()(const event::Keyframe&) {}
  void operator()(const event::Commit&) {}

 private:
  std::size_t groups() const { return state_.pools.size(); }
  void keep_text(TextKind kind, std::size_t number);
  MirrorTenant* tenant_at(std::uint32_t number, bool add);
  void attach(std::uint32_t slot, std::uint32_t parent, NamespaceId space);
  void detach(std::uint32_t slot);
  void hold(MirrorNode& node, std::size_t group, bool more);
  /// Sets the time of the last use of a node and of those above it.
  void use(std::uint64_t node);
  /// Adds a node to the sums of its group's pool, or removes it. REQUIRES: it has pages of the group.
  void count(const MirrorNode& node, std::size_t group, bool in);
  /// Records an added or removed child. A leaf of a whole-path group waits to be evicted; its parent does not.
  void count_child(MirrorNode& parent, bool more);
  /// Calls the watcher before the node leaves the tree.
  void report_removal(const MirrorNode& node) const;
  void own(std::size_t group, Segment run, std::int64_t owner);
  void admit(MirrorRequest& request);
  void count_match(std::uint64_t node);
  void count_work(std::uint64_t node);
  void count_tenant(const MirrorRequest& request);
  void take_over(MirrorNode& node, const MirrorRequest& request);
  void free_pages(MirrorNode& node, std::size_t group);
  void bury(const MirrorNode& node);
  void set_path(MirrorNode& node) const;
  void find_reason(MirrorRequest& request);
  void add_returned(MirrorRequest& request);
  void not_known(MirrorRequest& request) const;

  /// Returns false for an event that no engine sends.
  static bool may_be(const event::NodeAdded& added);
  /// Puts a node below a parent; 0: none.
  void place(std::uint32_t slot, std::uint32_t parent);
  /// Takes a node that stays out of its place, until its NodeAdded.
  void lift(MirrorNode& node);

  MirrorState& state_;
  MirrorWatcher* watcher_;                                       ///< May be null (no watcher).
  std::unordered_map<std::uint64_t, event::NodeAdded> staying_;  ///< nodes that look_ahead() has found, by id
  std::unordered_set<std::uint64_t> lifted_;                     ///< those of them that have no place now
  bool cleared_ = false;
};

}  // namespace canopy::inspector
