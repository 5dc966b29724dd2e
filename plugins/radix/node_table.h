#pragma once

#include <canopy/helpers/prefetch.h>
#include <canopy/types.h>

#include "column.h"
#include "run_store.h"

namespace canopy::radix {

using Slot = std::uint32_t;  ///< place of a node in the arena; 0: no node
inline constexpr std::uint32_t kFreeSlot = std::uint32_t{1} << 31;

/// A window on a run: `length` units from depth `begin`. A namespace's root has no run and parent 0. The size is one
/// cache line.
struct Node {
  Slot parent;
  std::uint32_t life;  ///< life of the slot: 1 for its first node, 2 for the next; kFreeSlot is added while it is free
  RunStore::Block run;
  Units begin, length;
  std::uint32_t resident;  ///< bit g: group g has pages here
  std::uint32_t hits, children;
  Slot first_child, next, prev;  ///< siblings in the order of insertion; prev of the first one is the last one
  NamespaceId space;
  std::uint32_t inserts;
  std::int32_t priority;
  Tick created;

  Units end() const { return begin + length; }
};
static_assert(sizeof(Node) == 64);

/// The nodes, their places in the tree, and the table of children: one flat table for the whole tree, with open
/// addressing, keyed by a fingerprint of (parent, first page). The caller compares the words of each candidate.
class NodeTable {
 public:
  NodeTable() { nodes_.push_back({}); }

  Node& operator[](Slot slot) { return nodes_[slot]; }
  const Node& operator[](Slot slot) const { return nodes_[slot]; }
  std::size_t slots() const { return nodes_.size(); }  ///< every slot is below it
  NodeId id(Slot slot) const { return static_cast<NodeId>(std::uint64_t{nodes_[slot].life} << 32 | slot); }
  bool in_use(Slot slot) const { return (nodes_[slot].life & kFreeSlot) == 0; }
  /// Returns the node of an id; 0 if it is no longer in the tree.
  Slot find(NodeId id) const {
    const Slot slot = slot_of(id);
    return slot != 0 && slot < nodes_.size() && this->id(slot) == id && in_use(slot) ? slot : 0;
  }

  /// Makes room for `count` more nodes. Returns false if the system has no memory.
  bool reserve(std::size_t count);
  /// Returns a new node, all zeros. REQUIRES: reserve.
  Slot make();
  void free(Slot slot);
  void free_all();
  /// Makes `child` the last child of `parent`.
  void attach(Slot parent, Slot child);
  void detach(Slot child);
  /// Puts `upper` into the place of `lower` among its siblings and makes it the parent of `lower`.
  void put_between(Slot upper, Slot lower);
  /// Returns the next node of a walk that visits parents before children; 0 after the last one below `top`.
  Slot after(Slot slot, Slot top) const;

  static std::uint32_t fingerprint(Slot parent, const std::uint32_t* words, std::size_t count);
  void file(std::uint32_t fingerprint, Slot slot);
  void unfile(std::uint32_t fingerprint, Slot slot);
  void refile(std::uint32_t fingerprint, Slot from, Slot to);
  /// Calls `visit` with the slots filed under a fingerprint until it returns true.
  template <class Visit>
  void candidates(std::uint32_t fingerprint, Visit&& visit) const {
    if (places_.size() == 0) return;
    const std::size_t mask = places_.size() - 1;
    for (std::size_t i = fingerprint & mask; places_[i].slot; i = (i + 1) & mask)
      if (places_[i].fingerprint == fingerprint && visit(places_[i].slot)) return;
  }

  /// Prefetches the memory that a later call reads.
  void prefetch(Slot slot) const { canopy::prefetch(&nodes_[slot]); }
  void prefetch_places(std::uint32_t fingerprint) const {
    if (places_.size()) canopy::prefetch(&places_[fingerprint & (places_.size() - 1)]);
  }

  std::size_t resident() const { return nodes_.resident() + places_.resident(); }

 private:
  struct Place {
    std::uint32_t fingerprint;
    Slot slot;
  };
  void rehash(std::size_t size);
  std::size_t place_of(std::uint32_t fingerprint, Slot slot) const;

  Column<Node> nodes_;
  Slot free_ = 0;  ///< first free slot, linked through Node::next
  Column<Place> places_;
  std::size_t filed_ = 0;
};

}  // namespace canopy::radix
