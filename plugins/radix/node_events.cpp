#include "node_events.h"

#include <canopy/feed/node_events.h>

namespace canopy::radix {

void NodeEvents::tell_locked(Slot node, const Lock& lock, std::size_t first_group) const {
  if (!told() || nodes_[node].parent == 0) return;
  for (std::size_t g = first_group; g < holds_.groups(); ++g)
    feed_->push(event::Locked{nodes_.id(node), static_cast<std::uint8_t>(g), lock.from[g]});
}

void NodeEvents::tell_relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const {
  if (!told()) return;
  if (nodes_[before].parent == 0) return tell_locked(node, lock, 0);
  for (std::size_t g = 0; g < holds_.groups(); ++g)
    if (node != before || lock.from[g] != had.from[g])
      feed_->push(
          event::Relocked{nodes_.id(node), static_cast<std::uint8_t>(g), lock.from[g], nodes_.id(before), had.from[g]});
}

void NodeEvents::tell_added(Slot slot, const std::uint32_t* words, const IncomingPages& incoming,
                            std::uint64_t request) const {
  const Node& node = nodes_[slot];
  const NodeId id = nodes_.id(slot);
  const Slot parent = nodes_[node.parent].parent ? node.parent : 0;
  const event::NodeAdded added{id, parent, node.length, node.space, static_cast<std::uint16_t>(node.resident), request};
  if (TreeListener* listener = feed_->listener()) listener->added(added, words);
  if (!feed_->on()) return;
  push_node(*feed_, added, words, node.created);
  for (std::size_t g = 0; request == 0 && g < holds_.groups(); ++g)
    if (node.resident >> g & 1)
      feed_->push_pages(event::NodePages{id, static_cast<std::uint8_t>(g), 0, {}}, 0, node.length / page_,
                        incoming.pages(g, node.begin, node.end()).data());
}

void NodeEvents::tell_pages(Slot slot, std::size_t group) const {
  if (!told()) return;
  const Node& node = nodes_[slot];
  feed_->push_pages(event::NodePages{nodes_.id(slot), static_cast<std::uint8_t>(group), 0, {}}, 0, node.length / page_,
                    runs_.pages(node) + group, holds_.groups());
}

void NodeEvents::tell_filled(Slot slot, std::size_t group) const {
  tell_pages(slot, group);
  const Node& node = nodes_[slot];
  if (TreeListener* listener = feed_ ? feed_->listener() : nullptr)
    listener->filled(nodes_.id(slot), static_cast<std::uint8_t>(group), node.length, runs_.words(node));
}

void NodeEvents::tell_facts(Slot slot) const {
  if (!told()) return;
  const Node& node = nodes_[slot];
  feed_->push(event::NodeHistory{nodes_.id(slot), node.priority, holds_(slot, 0).last_access, node.hits, node.inserts});
}

}  // namespace canopy::radix
