#include "node_events.h"

namespace canopy::radix {

void NodeEvents::locked(Slot node, const Lock& lock, std::size_t first_group) const {
  IndexEvents* const to = nodes_[node].parent ? all() : nullptr;
  for (std::size_t g = first_group; to && g < holds_.groups(); ++g) to->locked(nodes_.id(node), g, lock.from[g]);
}

void NodeEvents::relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const {
  IndexEvents* const to = all();
  if (!to) return;
  if (nodes_[before].parent == 0) return locked(node, lock, 0);
  for (std::size_t g = 0; g < holds_.groups(); ++g)
    if (node != before || lock.from[g] != had.from[g])
      to->relocked(nodes_.id(node), g, lock.from[g], nodes_.id(before), had.from[g]);
}

void NodeEvents::added(Slot slot, const std::uint32_t* words, const IncomingPages& incoming,
                       std::uint64_t request) const {
  const Node& node = nodes_[slot];
  AddedNode added;
  added.node = nodes_.id(slot);
  added.parent = nodes_[node.parent].parent ? node.parent : 0;
  added.space = node.space;
  added.length = node.length;
  added.words = words;
  added.resident = node.resident;
  for (std::size_t g = 0; request == 0 && g < holds_.groups(); ++g)
    added.pages[g] = incoming.pages(g, node.begin, node.end());
  added.request = request;
  added.created = node.created;
  receiver_->added(added);
}

void NodeEvents::filled(Slot slot, std::size_t group) const {
  if (IndexEvents* to = nodes())
    to->filled(nodes_.id(slot), group, nodes_[slot].length, runs_.words(nodes_[slot]), pages(slot, group));
}

void NodeEvents::facts(Slot slot) const {
  const Node& node = nodes_[slot];
  if (IndexEvents* to = all())
    to->changed(nodes_.id(slot), node.priority, holds_(slot, 0).last_access, node.hits, node.inserts);
}

}  // namespace canopy::radix
