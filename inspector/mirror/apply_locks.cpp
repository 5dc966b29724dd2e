// MirrorNode::hold counts as the index does: own locks and held children in a group of whole paths, locks over the node
// in another group. A keyframe reports all locks of a subtree instead, and settle_locks() converts them. hold() takes a
// node out of the sums of its pool before the count changes, and adds it again afterwards.

#include <array>
#include <unordered_map>

#include "apply.h"

namespace canopy::inspector {

void Apply::hold(MirrorNode& node, std::size_t group, bool more) {
  const bool was = node.hold[group] != 0;
  if (node.has(group)) count(node, group, false);
  node.hold[group] += more ? 1U : ~0U;
  if (node.has(group)) count(node, group, true);
  if (was != (node.hold[group] != 0))
    state_.pools[group].changes.add({slot_of(NodeId{node.id}), 0}, state_.commits + 1);
}

void Apply::operator()(const event::NodeLocks& held) {
  if (MirrorNode* node = state_.writable(static_cast<std::uint64_t>(held.node))) node->hold[held.group] = held.locks;
}

void Apply::operator()(const event::Locked& locked) {
  const auto id = static_cast<std::uint64_t>(locked.node);
  if (!state_.find(id)) return;
  NodeBlocks& nodes = state_.nodes;
  const bool whole = state_.pools[locked.group].reach == kWholePath;
  for (std::uint32_t at = slot_of(locked.node); at && (whole || nodes[at].end() > locked.from); at = nodes[at].parent) {
    const bool first = nodes[at].hold[locked.group] == 0;
    hold(nodes[at], locked.group, true);
    if (whole && !first) break;
  }
  if (locked.group == 0) state_.now.locked_node = id, state_.past.remember({id, state_.commits + 1, locked.kKind});
}

void Apply::operator()(const event::Unlocked& unlocked) {
  const auto id = static_cast<std::uint64_t>(unlocked.node);
  if (!state_.find(id)) return;
  NodeBlocks& nodes = state_.nodes;
  const bool whole = state_.pools[unlocked.group].reach == kWholePath;
  for (std::uint32_t at = slot_of(unlocked.node); at && (whole || nodes[at].end() > unlocked.from);
       at = nodes[at].parent) {
    hold(nodes[at], unlocked.group, false);
    if (whole && nodes[at].hold[unlocked.group] > 0) break;
  }
  if (unlocked.group == 0) state_.past.remember({id, state_.commits + 1, unlocked.kKind});
}

void Apply::operator()(const event::Relocked& relocked) {
  (*this)(event::Locked{.group = relocked.group, .from = relocked.from, .node = relocked.node});
  (*this)(event::Unlocked{.group = relocked.group, .from = relocked.from_before, .node = relocked.before});
}

void Apply::operator()(const event::Relaxed& relaxed) {
  if (!state_.find(static_cast<std::uint64_t>(relaxed.node))) return;
  NodeBlocks& nodes = state_.nodes;
  for (std::uint32_t at = slot_of(relaxed.node); at && nodes[at].end() > relaxed.from_before; at = nodes[at].parent)
    if (nodes[at].end() <= relaxed.from) hold(nodes[at], relaxed.group, false);
}

void Apply::operator()(const event::Pinned& pinned) {
  const auto id = static_cast<std::uint64_t>(pinned.node);
  if (pinned.pinned) state_.pins.insert(id);
  else state_.pins.erase(id);
}

/// A keyframe reports how many locks hold each node. For whole paths, the count kept here is of own locks and held
/// children.
void Apply::settle_locks() {
  std::unordered_map<std::uint32_t, std::array<std::uint32_t, kMaxGroups>> extra;  // held children minus their locks
  NodeBlocks& nodes = state_.nodes;
  nodes.each([&](std::uint32_t slot) {
    const MirrorNode& node = nodes[slot];
    for (std::size_t g = 0; node.parent && g < groups(); ++g)
      if (node.hold[g]) extra[node.parent][g] += 1 - node.hold[g];
  });
  for (MirrorPool& pool : state_.pools) pool.counted.evictable = pool.counted.protected_ = pool.waiting = 0;
  nodes.each([&](std::uint32_t slot) {
    MirrorNode& node = nodes[slot];
    const auto more = extra.find(slot);
    for (std::size_t g = 0; g < groups(); ++g) {
      if (state_.pools[g].reach == kWholePath && more != extra.end()) node.hold[g] += more->second[g];
      if (node.has(g)) count(node, g, true);
    }
  });
}

}  // namespace canopy::inspector
