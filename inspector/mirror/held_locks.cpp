// The locks that end in a node are its count minus its held children. Each request, fetch or pin explains one of them,
// and only the rest is listed as unexplained.

#include "held_locks.h"

#include <canopy/feed/events.h>

#include <algorithm>
#include <unordered_map>

namespace canopy::inspector {
namespace {

/// Nodes without a known owner for which the time of the lock is looked up.
constexpr std::size_t kMostLookedUp = 64;

/// Returns the last commit in which the node was locked, as far as it is remembered; otherwise 0.
std::uint64_t locked_at(const Mirror& mirror, std::uint64_t node) {
  std::uint64_t commit = 0;
  for (const NodeMoment& moment : mirror.history(node))
    if (moment.kind == event::Locked::kKind || moment.kind == event::NodeUsed::kKind) commit = moment.commit;
  return commit;
}

}  // namespace

std::vector<HeldLock> held_locks(const Mirror& mirror, std::size_t group) {
  std::vector<HeldLock> held;
  if (group >= mirror.groups() || mirror.pool(group).reach != kWholePath) return held;
  // For whole paths, a node's count is of its own locks and its held children.
  std::unordered_map<std::uint32_t, std::uint64_t> children, own;
  mirror.each_node([&](const MirrorNode& node) {
    if (node.hold[group] == 0) return;
    own[slot_of(NodeId{node.id})] += node.hold[group];
    if (node.parent) ++children[node.parent];
  });
  for (auto& [slot, locks] : own)
    if (const auto some = children.find(slot); some != children.end()) locks -= std::min(locks, some->second);
  const auto take = [&](HeldLock lock) {
    const MirrorNode* node = mirror.find(lock.node);
    if (!node) return;
    lock.space = node->space, lock.tokens = node->end();
    std::uint64_t& left = own[slot_of(NodeId{node->id})];
    left -= std::min(left, lock.locks);
    held.push_back(lock);
  };
  for (const MirrorRequest& request : mirror.requests())
    if (!request.ended() && request.last_node != 0 && request.phase != RequestPhase::retracted)
      take({request.fetch ? HeldLock::Owner::fetch : HeldLock::Owner::request,
            request.id,
            request.last_node,
            {},
            0,
            1,
            request.begun_at,
            request.begun_us});
  for (const std::uint64_t pin : mirror.pins()) take({HeldLock::Owner::pin, 0, pin, {}, 0, 1, 0, 0});
  std::size_t looked_up = 0;
  for (const auto& [slot, locks] : own) {
    if (locks == 0) continue;
    const MirrorNode& node = mirror.node(slot);
    const std::uint64_t since = ++looked_up <= kMostLookedUp ? locked_at(mirror, node.id) : 0;
    held.push_back({HeldLock::Owner::unexplained, 0, node.id, node.space, node.end(), locks, since, 0});
  }
  std::sort(held.begin(), held.end(), [](const HeldLock& a, const HeldLock& b) {
    const bool a_known = a.owner != HeldLock::Owner::unexplained, b_known = b.owner != HeldLock::Owner::unexplained;
    if (a_known != b_known) return b_known;
    if (a.since_commit != b.since_commit) return a.since_commit < b.since_commit;
    return a.request != b.request ? a.request < b.request : a.node < b.node;
  });
  return held;
}

}  // namespace canopy::inspector
