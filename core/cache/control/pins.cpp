// A node has at most one pin, and is in CacheState::pins exactly while the lock of that pin holds it. For readers of
// the feed the node stays pinned until neither a pin nor a retention keeps it.

#include "pins.h"

#include <cache/guard/index_port.h>
#include <cache/publish/publisher.h>
#include <cache/tenants/tenants.h>

namespace canopy {

bool Pins::pin(NodeId node) {
  if (node == NodeId::none || state_.pins.contains(node)) return false;
  const auto pin = state_.pins.try_emplace(node).first;  // takes its memory before there is a lock
  pin->second = state_.index->hold(node);
  if (pin->second.id == LockId::none) return state_.pins.erase(pin), false;
  if (Publisher* publisher = pages_.publisher()) publisher->pinned(node, true);
  pages_.end_operation(Operation::control);
  return true;
}

bool Pins::unpin(NodeId node) {
  const auto found = state_.pins.find(node);
  if (found == state_.pins.end()) return false;
  drainer_.releasing(found->second);
  pages_.release(found->second, NamespaceId::shared, nullptr);
  if (state_.tenants) state_.tenants->all_changed();  // the namespace of a node is not known here
  state_.pins.erase(found);
  if (Publisher* publisher = pages_.publisher()) publisher->pinned(node, state_.kept.contains(node));
  pages_.end_operation(Operation::control);
  drainer_.go_on();
  return true;
}

}  // namespace canopy
