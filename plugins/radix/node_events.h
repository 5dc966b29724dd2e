#pragma once

#include <canopy/feed/feed.h>
#include <canopy/prefix_index.h>

#include "hold_table.h"
#include "incoming_pages.h"
#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// What the feed is told of the tree. Costs a test of one flag while the feed is off, or there is none.
class NodeEvents {
 public:
  NodeEvents(FeedWriter* feed, const NodeTable& nodes, const HoldTable& holds, const Runs& runs,
             const PrefixIndex::Context& context)
      : feed_(feed), nodes_(nodes), holds_(holds), runs_(runs), page_(context.page_size), overlap_(context.overlap) {}

  bool told() const { return feed_ && feed_->on(); }
  void tell(EventKind kind, Slot slot, std::size_t group = 0, std::uint64_t a = 0, std::uint64_t b = 0) const {
    if (told())
      feed_->push({kind, static_cast<std::uint8_t>(group), 0, 0, static_cast<std::uint64_t>(nodes_.id(slot)), a, b});
  }
  void tell_added(Slot slot, const std::uint32_t* words, const IncomingPages& incoming) const;
  void tell_split(Slot lower, Slot upper, Units at) const;
  void tell_removed(Slot slot, bool inherits) const;
  void tell_pages(Slot slot, std::size_t group) const;
  void tell_facts(Slot slot) const;
  void tell_locked(Slot node, const Lock& lock, std::size_t first_group) const;
  /// The lock `had` on `before` is one on `node` now; either may be a namespace's root, where nothing is held.
  void tell_relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const;

 private:
  FeedWriter* feed_;
  const NodeTable& nodes_;
  const HoldTable& holds_;
  const Runs& runs_;
  Units page_, overlap_;
};

}  // namespace canopy::radix
