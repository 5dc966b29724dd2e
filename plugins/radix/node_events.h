#pragma once

#include <canopy/prefix_index.h>

#include "hold_table.h"
#include "incoming_pages.h"
#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// Sends changes of the tree to IndexEvents. Costs a test or two while there is no receiver or it wants nothing.
class NodeEvents {
 public:
  NodeEvents(IndexEvents* receiver, const NodeTable& nodes, const HoldTable& holds, const Runs& runs, Units page_size)
      : receiver_(receiver), nodes_(nodes), holds_(holds), runs_(runs), page_(page_size) {}

  /// Returns the receiver while it wants all changes, otherwise null.
  IndexEvents* all() const {
    if (!receiver_ || !receiver_->wants_all()) [[likely]]
      return nullptr;
    return receiver_;
  }
  /// Returns the receiver while it wants changes of nodes, otherwise null.
  IndexEvents* nodes() const {
    if (!receiver_ || !receiver_->wants_nodes()) [[likely]]
      return nullptr;
    return receiver_;
  }

  /// Sends a new node. `request`: InsertFacts::request.
  void added(Slot slot, const std::uint32_t* words, const IncomingPages& incoming, std::uint64_t request) const;
  /// Sends that a tombstone of the group has pages again.
  void filled(Slot slot, std::size_t group) const;
  void relocated(Slot slot, std::size_t group) const {
    if (IndexEvents* to = all()) to->relocated(nodes_.id(slot), group, pages(slot, group));
  }
  /// Sends the facts that policies see.
  void facts(Slot slot) const;
  /// Sends the facts of a node and of all above it.
  void facts_of_path(Slot end) const {
    for (Slot at = end; all() && nodes_[at].parent; at = nodes_[at].parent) facts(at);
  }
  void locked(Slot node, const Lock& lock, std::size_t first_group) const;
  /// Sends that the lock `had` on `before` is now `lock` on `node`. Either node may be a namespace's root, where
  /// nothing is held.
  void relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const;

 private:
  NodePageList pages(Slot slot, std::size_t group) const {
    return {runs_.pages(nodes_[slot]) + group, nodes_[slot].length / page_, holds_.groups()};
  }

  IndexEvents* receiver_;
  const NodeTable& nodes_;
  const HoldTable& holds_;
  const Runs& runs_;
  Units page_;
};

}  // namespace canopy::radix
