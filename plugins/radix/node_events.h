#pragma once

#include <canopy/feed/writer.h>
#include <canopy/prefix_index.h>

#include "hold_table.h"
#include "incoming_pages.h"
#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// What the feed is told of the tree. Costs a test of one flag while the feed is off, or there is none.
class NodeEvents {
 public:
  NodeEvents(FeedWriter* feed, const NodeTable& nodes, const HoldTable& holds, const Runs& runs, Units page_size)
      : feed_(feed), nodes_(nodes), holds_(holds), runs_(runs), page_(page_size) {}

  bool told() const { return feed_ && feed_->on(); }
  /// Whether anything hears of nodes that come, go and are split.
  bool heard() const { return feed_ && feed_->heard(); }
  /// Tells of a node: tell<event::Unlocked>(slot, fields behind the node ...).
  template <class T, class... Fields>
  void tell(Slot slot, Fields... fields) const {
    if constexpr (requires(FeedWriter& feed, const T& event) { feed.tell(event); }) {
      if (heard()) feed_->tell(T{nodes_.id(slot), fields...});
    } else if (told()) {
      feed_->push(T{nodes_.id(slot), fields...});
    }
  }
  void tell_cleared() const {
    if (heard()) feed_->tell(event::Cleared{});
  }
  /// `request`: InsertFacts::request.
  void tell_added(Slot slot, const std::uint32_t* words, const IncomingPages& incoming, std::uint64_t request) const;
  void tell_pages(Slot slot, std::size_t group) const;
  /// A tombstone of the group has pages again.
  void tell_filled(Slot slot, std::size_t group) const;
  void tell_facts(Slot slot) const;
  /// The same of a node and all above it.
  void tell_path(Slot end) const {
    for (Slot at = end; told() && nodes_[at].parent; at = nodes_[at].parent) tell_facts(at);
  }
  void tell_locked(Slot node, const Lock& lock, std::size_t first_group) const;
  /// The lock `had` on `before` is one on `node` now; either may be a namespace's root, where nothing is held.
  void tell_relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const;

 private:
  FeedWriter* feed_;
  const NodeTable& nodes_;
  const HoldTable& holds_;
  const Runs& runs_;
  Units page_;
};

}  // namespace canopy::radix
