#pragma once

#include <canopy/prefix_index.h>

#include <cstddef>
#include <span>
#include <vector>

namespace canopy::python {

/// Returns the order in which waiting requests share the most, as indices. It is SGLang's dfs-weight: depth first, the
/// subtree with the most waiting requests first, among equals the one that came first; a node's own requests after
/// those below it, in their order. `nodes[i]` is the node in which request i's match ended; none: nothing matched.
/// O(tree).
std::vector<std::size_t> dfs_weight_order(const PrefixIndex& index, std::span<const NodeId> nodes);

}  // namespace canopy::python
