#pragma once

#include <canopy/prefix_index.h>

#include <cstddef>
#include <span>
#include <vector>

namespace canopy::python {

/// The order in which waiting requests share most, as SGLang's dfs-weight has it: depth first, the subtree with most
/// waiters first, among equals the one that came first; a node's own waiters behind those below it, in their order.
/// `nodes[i]` is where request i's match ended, none: nowhere. Returns indices. O(tree).
std::vector<std::size_t> dfs_weight_order(const PrefixIndex& index, std::span<const NodeId> nodes);

}  // namespace canopy::python
