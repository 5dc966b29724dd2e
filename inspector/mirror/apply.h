#pragma once

#include <canopy/feed/events.h>

#include "mirror_state.h"
#include "mirror_watcher.h"

namespace canopy::inspector {

/// What each event changes in a mirror's state: one function a kind. A damaged recording may say anything, so each
/// function checks what it is told and passes over what cannot be.
class Apply {
 public:
  explicit Apply(MirrorState& state, MirrorWatcher* watcher = nullptr) : state_(state), watcher_(watcher) {}

  /// An event of any kind; one of an unknown kind is counted.
  void event(const Event& event);
  /// After the events of a keyframe: the locks it told of become counts.
  void settle_locks();

  // Nodes: apply_nodes.cpp.
  void operator()(const event::NodeAdded& added);
  void operator()(const event::NodeNamed& named);
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
  void operator()(const event::TierPages& pages);
  void operator()(const event::TierMoved& moved);
  void operator()(const event::TierLane& lane);
  void operator()(const event::TierFetches& fetches);
  void operator()(const event::TierEnds& ends);
  void operator()(const event::TierLost& lost);
  // The storage: apply_storage.cpp.
  void operator()(const event::StorageQueue& queue);
  void operator()(const event::StorageSpeed& speed);
  void operator()(const event::StorageFates& fates);
  void operator()(const event::StorageBrings& brings);
  void operator()(const event::StorageMoved& moved);
  void operator()(const event::StorageLost& lost);
  void operator()(const event::StorageHealth& health);
  void operator()(const event::StorageRoom& room);
  void operator()(const event::StorageRanks& ranks);
  void operator()(const event::NodeBrought& brought);
  // Requests: apply_requests.cpp.
  void operator()(const event::RequestBegun& begun);
  void operator()(const event::RequestProgress& progress);
  // Texts: apply.cpp.
  void operator()(const event::TextPiece& piece);
  // Mirror::take_commit and Mirror::commit look after these two.
  void operator()(const event::Keyframe&) {}
  void operator()(const event::Commit&) {}

 private:
  std::size_t groups() const { return state_.pools.size(); }
  void attach(std::uint32_t slot, std::uint32_t parent, NamespaceId space);
  void detach(std::uint32_t slot);
  void hold(MirrorNode& node, std::size_t group, bool more);
  /// A node enters or leaves the sums of its group's pool. REQUIRES: it has pages of the group.
  void count(const MirrorNode& node, std::size_t group, bool in);
  /// A child was added, or it left: a leaf of a whole-path group waits to be evicted, its parent does not.
  void count_child(MirrorNode& parent, bool more);
  /// The node leaves the tree.
  void tell_removed(const MirrorNode& node) const;
  void own(std::size_t group, Segment run, std::int64_t owner);
  void take_over(MirrorNode& node, const MirrorRequest& request);
  void free_pages(MirrorNode& node, std::size_t group);
  void bury(const MirrorNode& node);
  void find_reason(MirrorRequest& request);
  void not_known(MirrorRequest& request) const;

  MirrorState& state_;
  MirrorWatcher* watcher_;  ///< null: none
};

}  // namespace canopy::inspector
