#pragma once

#include <canopy/prefix_index.h>

#include <string>
#include <vector>

namespace canopy::test {

/// A node as it was when the walk met it, spans copied.
struct WalkedNode {
  NodeFacts facts;
  NodeId parent{};
  std::vector<std::uint32_t> words;
  std::array<std::vector<Page>, kMaxGroups> pages;  ///< empty: a tombstone of that group
  std::array<std::uint32_t, kMaxGroups> locks{};
};

std::vector<WalkedNode> walk(const PrefixIndex& index);

/// The shape of a tree, parents before children: "0..4 4..8:full 4..6:-", the groups named where not all are
/// resident. `scale`: units in what depths are told in.
std::string shape_of(const PrefixIndex& index, const std::vector<std::string>& groups, Units scale);

}  // namespace canopy::test
