#pragma once

#include "mirror.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace canopy::inspector {

/// The order in which the nodes of a group are evicted while no node is used, inserted or released.
struct EvictionOrder {
  struct Place {
    std::uint32_t slot = 0;
    Rank rank{};
  };
  std::vector<Place> nodes;
  /// True if later nodes are not known: with the last one its parent becomes a leaf, and only then does the policy give
  /// the parent a rank.
  bool ends_early = false;
};

/// Returns the first nodes of that order, at most `most`. In a whole-path group, a parent takes its place when its last
/// child has gone. Its rank is computed if the policy's words (PolicyText::rank) say that ranks are the tick of the
/// last use or creation, after hits or the priority if it has them, and the ranks of all nodes that wait are so.
/// O(nodes).
EvictionOrder eviction_order(const Mirror& mirror, std::size_t group, std::size_t most);

}  // namespace canopy::inspector
