#include "node_events.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace canopy::radix {

void NodeEvents::tell_locked(Slot node, const Lock& lock, std::size_t first_group) const {
  for (std::size_t g = first_group; nodes_[node].parent && g < holds_.groups(); ++g)
    tell(EventKind::locked, node, g, lock.from[g]);
}

void NodeEvents::tell_relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const {
  if (!told()) return;
  if (nodes_[before].parent == 0) return tell_locked(node, lock, 0);
  for (std::size_t g = 0; g < holds_.groups(); ++g)
    if (node != before || lock.from[g] != had.from[g])
      feed_->push({EventKind::relocked, static_cast<std::uint8_t>(g), 0, lock.from[g],
                   static_cast<std::uint64_t>(nodes_.id(node)), static_cast<std::uint64_t>(nodes_.id(before)),
                   had.from[g]});
}

void NodeEvents::tell_added(Slot slot, const std::uint32_t* words, const IncomingPages& incoming) const {
  const Node& node = nodes_[slot];
  const auto id = static_cast<std::uint64_t>(nodes_.id(slot));
  const Slot parent = nodes_[node.parent].parent ? node.parent : 0;
  feed_->push({EventKind::node_added, 0, static_cast<std::uint16_t>(node.resident),
               static_cast<std::uint32_t>(node.space), id, parent | std::uint64_t{node.length} << 32,
               feed_->bringer()});
  feed_->push({EventKind::node_named, 0, 0, 0, id,
               XXH3_64bits_withSeed(words, (std::size_t{page_} + overlap_) * sizeof(*words), feed_->digest_key()),
               node.created});
  if (feed_->header().tokens)
    for (Units at = 0; at < node.length; at += 4) {
      std::uint32_t some[4] = {};
      std::copy(words + at, words + std::min(at + 4, node.length), some);
      feed_->push({EventKind::node_words, 0, 0, at, id, some[0] | std::uint64_t{some[1]} << 32,
                   some[2] | std::uint64_t{some[3]} << 32});
    }
  for (std::size_t g = 0; feed_->bringer() == 0 && g < holds_.groups(); ++g)
    if (node.resident >> g & 1)
      feed_->push_pages(EventKind::node_pages, id, g, 0, node.length / page_,
                        incoming.pages(g, node.begin, node.end()).data());
}

void NodeEvents::tell_split(Slot lower, Slot upper, Units at) const {
  if (told())
    feed_->push({EventKind::node_split, 0, 0, nodes_[upper].inserts, static_cast<std::uint64_t>(nodes_.id(lower)),
                 static_cast<std::uint64_t>(nodes_.id(upper)), at});
}

void NodeEvents::tell_removed(Slot slot, bool inherits) const {
  if (told())
    feed_->push({EventKind::node_removed, 0, static_cast<std::uint16_t>(inherits), 0,
                 static_cast<std::uint64_t>(nodes_.id(slot))});
}

void NodeEvents::tell_pages(Slot slot, std::size_t group) const {
  if (!told()) return;
  const Node& node = nodes_[slot];
  const Page* pages = runs_.pages(node) + group;
  feed_->push_pages(EventKind::node_pages, static_cast<std::uint64_t>(nodes_.id(slot)), group, 0, node.length / page_,
                    pages, holds_.groups());
}

void NodeEvents::tell_facts(Slot slot) const {
  if (!told()) return;
  const Node& node = nodes_[slot];
  feed_->push({EventKind::node_facts, 0, 0, static_cast<std::uint32_t>(node.priority),
               static_cast<std::uint64_t>(nodes_.id(slot)), holds_(slot, 0).last_access,
               node.hits | std::uint64_t{node.inserts} << 32});
}

}  // namespace canopy::radix
