// No place of `places_` is empty between the home of an entry and the entry itself, so a search ends at the first empty
// place. A slot gets another life with each node, so no id stands for two nodes.

#include "node_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy::radix {

bool NodeTable::reserve(std::size_t count) {
  if (!nodes_.reserve(nodes_.size() + count)) return false;
  // Linear probing stays short up to a load of three quarters.
  std::size_t size = places_.size() ? places_.size() : 64;
  while ((filed_ + count) * 4 > size * 3) size *= 2;
  if (size != places_.size()) rehash(size);
  return places_.size() == size;
}

Slot NodeTable::make() {
  Slot slot = free_;
  std::uint32_t life = 1;
  if (slot) {
    free_ = nodes_[slot].next;
    life = (nodes_[slot].life & ~kFreeSlot) + 1;
  } else {
    slot = static_cast<Slot>(nodes_.size());
    nodes_.push_back({});
  }
  nodes_[slot] = {};
  nodes_[slot].life = life;
  return slot;
}

void NodeTable::free(Slot slot) {
  const std::uint32_t lives = nodes_[slot].life;
  nodes_[slot].life |= kFreeSlot;
  if (lives == kFreeSlot - 1) return;  // its ids are used up, and none is used for two nodes
  nodes_[slot].next = free_;
  free_ = slot;
}

void NodeTable::free_all() {
  for (Slot slot = 1; slot < nodes_.size(); ++slot)
    if (in_use(slot)) free(slot);
  places_ = {};
  filed_ = 0;
}

void NodeTable::attach(Slot parent, Slot child) {
  Node& node = nodes_[child];
  Node& above = nodes_[parent];
  node.parent = parent;
  node.next = 0;
  if (const Slot first = above.first_child) {
    node.prev = nodes_[first].prev;
    nodes_[node.prev].next = child;
    nodes_[first].prev = child;
  } else {
    above.first_child = node.prev = child;
  }
  ++above.children;
}

void NodeTable::detach(Slot child) {
  const Node& node = nodes_[child];
  Node& above = nodes_[node.parent];
  if (above.first_child == child) above.first_child = node.next;
  else nodes_[node.prev].next = node.next;
  if (node.next) nodes_[node.next].prev = node.prev;
  else if (above.first_child) nodes_[above.first_child].prev = node.prev;
  --above.children;
}

void NodeTable::put_between(Slot upper, Slot lower) {
  Node& above = nodes_[upper];
  Node& below = nodes_[lower];
  Node& parent = nodes_[below.parent];
  above.parent = below.parent;
  above.next = below.next;
  above.prev = below.prev == lower ? upper : below.prev;
  if (parent.first_child == lower) parent.first_child = upper;
  else nodes_[below.prev].next = upper;
  if (below.next) nodes_[below.next].prev = upper;
  else nodes_[parent.first_child].prev = upper;
  above.first_child = lower;
  above.children = 1;
  below.parent = upper;
  below.next = 0;
  below.prev = lower;
}

Slot NodeTable::after(Slot slot, Slot top) const {
  if (nodes_[slot].first_child) return nodes_[slot].first_child;
  for (; slot != top; slot = nodes_[slot].parent)
    if (nodes_[slot].next) return nodes_[slot].next;
  return 0;
}

std::uint32_t NodeTable::fingerprint(Slot parent, const std::uint32_t* words, std::size_t count) {
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(words, count * sizeof(*words), parent));
}

void NodeTable::file(std::uint32_t fingerprint, Slot slot) {
  const std::size_t mask = places_.size() - 1;
  std::size_t i = fingerprint & mask;
  while (places_[i].slot) i = (i + 1) & mask;
  places_[i] = {fingerprint, slot};
  ++filed_;
}

std::size_t NodeTable::place_of(std::uint32_t fingerprint, Slot slot) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t i = fingerprint & mask;
  while (places_[i].slot != slot) i = (i + 1) & mask;
  return i;
}

void NodeTable::refile(std::uint32_t fingerprint, Slot from, Slot to) {
  places_[place_of(fingerprint, from)].slot = to;
}

void NodeTable::unfile(std::uint32_t fingerprint, Slot slot) {
  const std::size_t mask = places_.size() - 1;
  std::size_t hole = place_of(fingerprint, slot);
  // An entry that probed across the hole moves into it, so that the erased entry needs no marker.
  for (std::size_t i = (hole + 1) & mask; places_[i].slot; i = (i + 1) & mask) {
    const std::size_t home = places_[i].fingerprint & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    places_[hole] = places_[i];
    hole = i;
  }
  places_[hole] = {};
  --filed_;
}

void NodeTable::rehash(std::size_t size) {
  Column<Place> larger;
  if (!larger.resize(size)) return;
  const std::size_t mask = size - 1;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].slot) continue;
    std::size_t at = places_[i].fingerprint & mask;
    while (larger[at].slot) at = (at + 1) & mask;
    larger[at] = places_[i];
  }
  places_ = std::move(larger);
}

}  // namespace canopy::radix
