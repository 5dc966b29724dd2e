#pragma once

#include <canopy/prefix_index.h>

#include <string>
#include <vector>

namespace canopy::test {

/// A node at the time of the walk, with copied spans.
struct WalkedNode {
  NodeFacts facts;
  NodeId parent{};
  std::vector<std::uint32_t> words;
  std::array<std::vector<Page>, kMaxGroups> pages;  ///< empty: a tombstone in that group
  std::array<std::uint32_t, kMaxGroups> locks{};
};

std::vector<WalkedNode> walk(const PrefixIndex& index);

/// Returns the shape of a tree, parents before children: "0..4 4..8:full 4..6:-"; names the groups if not all are
/// resident. `scale`: units per printed depth.
std::string shape_of(const PrefixIndex& index, const std::vector<std::string>& groups, Units scale);

}  // namespace canopy::test
