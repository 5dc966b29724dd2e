#pragma once

#include "node_table.h"

#include <cstdint>
#include <span>
#include <vector>

namespace canopy::radix {

/// SchedulingIndex::order_by_weight over the nodes: SGLang's order `dfs-weight`. SGLang weighs every node of the tree;
/// this class visits only the nodes on the paths of the given ones, each once. An object serves one call, and its
/// memory is proportional to those paths.
class WeightOrder {
 public:
  /// `splits_are_new`: the upper half of a split counts as created by the split, so ages do not show the order of
  /// siblings. For siblings of equal weight, their parent's list of children is read instead.
  WeightOrder(const NodeTable& nodes, bool splits_are_new) : nodes_(nodes), splits_are_new_(splits_are_new) {}

  void operator()(std::span<const NodeId> ends, std::span<std::uint32_t> order);

 private:
  using Index = std::uint32_t;  ///< number of a step; 0 is the root of all namespaces
  struct Step {
    Slot slot;
    Index parent;
    std::uint32_t weight;  ///< requests in the subtree
    std::uint32_t first;   ///< their first place in the order
    std::uint64_t place;   ///< lower places come first among siblings of equal weight
  };

  Index step_of(Slot end);
  Index& entry(Slot slot);
  void grow();
  bool before(Index a, Index b) const;
  void place_by_list(std::span<const Index> siblings);

  const NodeTable& nodes_;
  bool splits_are_new_;
  std::vector<Step> steps_{{}};  ///< parents before children
  std::vector<Slot> path_;       ///< nodes of one request, from its end up to a node met before
  std::vector<Index> table_;     ///< steps by their slot; open addressing; 0: free
};

}  // namespace canopy::radix
