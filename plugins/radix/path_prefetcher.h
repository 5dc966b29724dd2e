#pragma once

#include <canopy/helpers/prefetch.h>

#include "column.h"
#include "hold_table.h"
#include "node_table.h"

namespace canopy::radix {

/// Prefetches ancestors a few steps ahead while the index walks back to the root along `path`, the nodes that a match
/// walked down: without it, the cache misses of the parent pointers would come one after the other.
class PathPrefetcher {
 public:
  PathPrefetcher(const NodeTable& nodes, const HoldTable& holds, const Column<Slot>& path)
      : nodes_(nodes), holds_(holds), path_(path), left_(path.size()) {
    for (std::size_t i = 0; i < kAhead; ++i) step();
  }
  void step() {
    if (left_ == 0) return;
    const Slot slot = path_[--left_];
    nodes_.prefetch(slot);
    prefetch(&holds_(slot, 0));
  }

 private:
  static constexpr std::size_t kAhead = 8;
  const NodeTable& nodes_;
  const HoldTable& holds_;
  const Column<Slot>& path_;
  std::size_t left_;
};

}  // namespace canopy::radix
