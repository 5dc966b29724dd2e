#pragma once

#include <span>

#include "tree_index.h"

namespace canopy::inspector {

/// Part of the tree for which a node-link picture has room.
struct NodeLinkWindow {
  std::uint32_t focus = TreeIndex::kNowhere;  ///< place whose subtree is shown; kNowhere: all namespaces
  std::uint32_t rows = 0;                     ///< lines of text available
  std::span<const std::uint32_t> path;        ///< the selected node's path, deepest first: preferred to heavier places
};

/// A box of the picture: a place of the index, or siblings for which there was no room.
struct NodeLinkItem {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t parent = kNone;  ///< index of the parent item
  std::uint32_t place = 0;       ///< place in the index; for a bundle, one of its places
  std::uint32_t bundled = 0;     ///< number of siblings in the bundle; 0: a single place
  std::uint32_t column = 0, row = 0, rows = 1;
  TreeIndex::Mix mix{};  ///< own tokens by state; nodes and tokens including everything below
};

/// Number of columns below the focus. Deeper nodes form a bundle; go in to see them.
inline constexpr std::uint32_t kMostColumns = 24;

/// Lays out a tidy tree from left to right: a parent stands beside the middle of its children's rows, and siblings keep
/// their order. Each place gets rows by the tokens in its subtree. If there are more siblings than rows left for them,
/// some with the most tokens stay, and the rest are one bundle below them. Items come parent first, siblings from top
/// to bottom. Every place below the focus occurs once: as an item, in a bundle, or below a place in a bundle. Uses at
/// most `window.rows` rows and kMostColumns columns, and work in proportion, whatever the tree.
void lay_out(const TreeIndex& tree, const NodeLinkWindow& window, std::vector<NodeLinkItem>& items);

}  // namespace canopy::inspector
