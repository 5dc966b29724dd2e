#include <algorithm>

#include "apply.h"

namespace canopy::inspector {

void Apply::operator()(const event::CounterValue& counter) {
  state_.counters.at(counter.counter, counter.row, counter.column) = counter.value;
}

void Apply::operator()(const event::StorageHealth& health) { state_.health = health; }

/// The part may span several nodes of the path, so this walks up from its end.
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
