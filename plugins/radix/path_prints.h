#pragma once

#include <canopy/eviction_strategy.h>

#include "column.h"
#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// Nodes of a path for which memory is kept between calls.
inline constexpr std::size_t kUsualPath = 4096;

/// The prints of a node's path, for policies that read them (Eviction::prefix_prints).
class PathPrints {
 public:
  PathPrints(const NodeTable& nodes, const Runs& runs) : nodes_(nodes), runs_(runs) {}
  /// Returns the prints of the whole strides up to the node's end; none if the system has no memory. Valid until the
  /// next call.
  std::span<const std::uint64_t> of(Slot slot);

 private:
  const NodeTable& nodes_;
  const Runs& runs_;
  Column<Slot> path_;
  Column<std::uint64_t> prints_;
  /// The parent of the last node; its prints are the first ones of prints_. It is often evicted next, and no path
  /// changes while its last node is in the tree, so a chain is read once and not once per node.
  NodeId above_{};
};

}  // namespace canopy::radix
