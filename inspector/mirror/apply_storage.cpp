#include <algorithm>

#include "apply.h"

namespace canopy::inspector {
namespace {

/// Null: a lane that no engine has.
MirrorStorage::Lane* lane_of(MirrorState& state, StorageLane lane) {
  const auto number = static_cast<std::size_t>(lane);
  return number < kStorageLanes ? &state.storage.lanes[number] : nullptr;
}

}  // namespace

void Apply::operator()(const event::StorageQueue& queue) {
  if (MirrorStorage::Lane* const lane = lane_of(state_, queue.lane)) lane->queue = queue;
}
void Apply::operator()(const event::StorageSpeed& speed) {
  if (MirrorStorage::Lane* const lane = lane_of(state_, speed.lane)) lane->speed = speed;
}
void Apply::operator()(const event::StorageFates& fates) {
  if (MirrorStorage::Lane* const lane = lane_of(state_, fates.lane)) lane->fates = fates;
}
void Apply::operator()(const event::StorageBrings& brings) {
  for (std::size_t i = 0; i < brings.by_outcome.size() && brings.first + i < state_.storage.brings.size(); ++i)
    state_.storage.brings[brings.first + i] = brings.by_outcome[i];
}
void Apply::operator()(const event::StorageMoved& moved) { state_.storage.moved = moved; }
void Apply::operator()(const event::StorageLost& lost) { state_.storage.lost = lost; }
void Apply::operator()(const event::StorageHealth& health) {
  if (health.state <= StorageState::open) state_.storage.health = health;
}
void Apply::operator()(const event::StorageRoom& room) { state_.storage.room = room; }
void Apply::operator()(const event::StorageRanks& ranks) { state_.storage.ranks = ranks; }

/// The part may lie in several nodes of the path: from its end up.
void Apply::operator()(const event::NodeBrought& brought) {
  if (!state_.find(static_cast<std::uint64_t>(brought.node))) return;
  for (std::uint32_t slot = slot_of(brought.node), steps = 0; slot != 0 && steps <= state_.node_count; ++steps) {
    const MirrorNode& node = state_.nodes[slot];
    if (node.end() <= brought.from) return;
    const std::uint32_t parent = node.parent;
    MirrorNode::Brought& part = state_.nodes[slot].brought;
    const bool meet = part.until > part.from && part.until >= brought.from && part.from <= brought.until;
    part = {meet ? std::min(part.from, brought.from) : brought.from,
            meet ? std::max(part.until, brought.until) : brought.until};
    slot = parent;
  }
}

}  // namespace canopy::inspector
