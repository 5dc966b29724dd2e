#pragma once

#include <span>

#include "tree_index.h"

namespace canopy::inspector {

/// The part of the tree that a node-link picture has room for.
struct NodeLinkWindow {
  std::uint32_t focus = TreeIndex::kNowhere;  ///< a place: its subtree; kNowhere: all namespaces
  std::uint32_t rows = 0;                     ///< lines of text that may be used
  std::span<const std::uint32_t> path;  ///< of the selected node, deepest first: places that go before heavier ones
};

/// A box of the picture: a place of the index, or siblings for which there was no room.
struct NodeLinkItem {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t parent = kNone;  ///< an item
  std::uint32_t place = 0;       ///< of a bundle: one of it
  std::uint32_t bundled = 0;     ///< siblings in it; 0: a place of its own
  std::uint32_t column = 0, row = 0, rows = 1;
  TreeIndex::Mix mix{};  ///< own tokens by state; nodes and tokens with all below
};

/// Columns below the focus: what is deeper is a bundle, and a way to it is to go in.
inline constexpr std::uint32_t kMostColumns = 24;

/// A tidy tree from left to right: a parent stands beside the middle of its children's rows, and siblings keep their
/// order. Each place gets rows by the tokens that hang on it; where siblings are more than the rows left for them, some
/// with most tokens stay and the rest is one bundle below them. Items come parent first, siblings from top to
/// bottom; every place below the focus is an item, in a bundle, or below one of a bundle, once. Never more than
/// `window.rows` rows and kMostColumns columns, and no more work than that, whatever the tree.
void lay_out(const TreeIndex& tree, const NodeLinkWindow& window, std::vector<NodeLinkItem>& items);

}  // namespace canopy::inspector
