#pragma once

#include <canopy/eviction_strategy.h>

#include "hold_table.h"

namespace canopy::radix {

/// A node in a VictimQueue. The queue's order is by rank, then by `order`, which the index chooses, then by slot.
struct QueuedNode {
  Rank rank;
  std::uint32_t order, slot;
  friend bool operator<(const QueuedNode& a, const QueuedNode& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.order != b.order ? a.order < b.order : a.slot < b.slot;
  }
};

/// The place of each node in the queue of one group: Hold::place, which only this queue writes.
struct QueuePlaces {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};         ///< the node is in no queue
  static constexpr std::uint32_t kInRing = std::uint32_t{1} << 31;  ///< set in RankRing, clear in RankHeap

  HoldTable* holds;
  std::size_t group;
  std::uint32_t& operator()(std::uint32_t slot) const { return (*holds)(slot, group).place; }
};

}  // namespace canopy::radix
