// The feed has no event for a node that gets another parent: a writer clears the index and adds all its nodes again, in
// one commit. Ids are never used twice, so a node of which the commit has both, with the same length and namespace, has
// stayed. It is lifted when the index is cleared, and placed when it is added.

#include <algorithm>
#include <bit>
#include <utility>

#include "apply.h"

namespace canopy::inspector {

void Apply::look_ahead(std::span<const Event> events) {
  bool cleared = false;
  for (const Event& event : events) {
    if (event.group & kOfTierBelow) continue;
    cleared = cleared || is<event::Cleared>(event);
    if (!cleared || !is<event::NodeAdded>(event)) continue;
    const auto added = std::bit_cast<event::NodeAdded>(event);
    if (may_be(added)) staying_.insert_or_assign(static_cast<std::uint64_t>(added.node), added);
  }
}

void Apply::settle_places() {
  for (const std::uint64_t id : lifted_) {
    MirrorNode& node = state_.nodes[slot_of(NodeId{id})];
    for (std::size_t g = 0; g < groups(); ++g) free_pages(node, g);
    node = {};
  }
  lifted_.clear();
}

void Apply::lift(MirrorNode& node) {
  node.hold = {};
  node.parent = node.prev = node.next = node.first_child = node.last_child = node.children = 0;
  lifted_.insert(node.id);
}

void Apply::operator()(const event::Cleared&) {
  settle_nodes();
  cleared_ = true;
  std::erase_if(staying_, [&](const auto& each) {
    const MirrorNode* const node = state_.find(each.first);
    return !node || node->length != each.second.length || node->space != each.second.space;
  });
  const bool some_stay = !staying_.empty();
  if (!some_stay) state_.now.line.operation = Operation::flush;
  state_.nodes.each([&](std::uint32_t slot) {
    if (staying_.contains(std::as_const(state_.nodes)[slot].id)) return lift(state_.nodes[slot]);
    report_removal(std::as_const(state_.nodes)[slot]);
    bury(std::as_const(state_.nodes)[slot]);
    for (std::size_t g = 0; g < groups(); ++g) free_pages(state_.nodes[slot], g);
    if (some_stay) state_.nodes[slot] = {};
  });
  if (!some_stay) state_.nodes.clear();
  state_.node_count = 0;
  for (MirrorPool& pool : state_.pools) pool.counted.evictable = pool.counted.protected_ = pool.waiting = 0;
  for (MirrorSpace& space : state_.spaces) space.first_child = space.last_child = 0, space.tokens = space.nodes = 0;
  state_.first_pages.clear();
}

}  // namespace canopy::inspector
