#pragma once

#include "tree_index.h"

namespace canopy::inspector {

/// Which part of the tree a panel shows: tokens from left to right, levels from top to bottom.
struct IcicleWindow {
  double left = 0, right = 1;  ///< tokens
  float width = 0;             ///< pixels
  std::size_t top = 0, rows = 0;
};

/// A rectangle of the picture: a node, or several of a level that are too narrow to be told apart.
struct IcicleCell {
  float x0 = 0, x1 = 0;  ///< pixels from the panel's left edge
  std::uint32_t row = 0;
  std::uint32_t first = 0, count = 0;  ///< places in the index
};

/// A node narrower than this (pixels) has no rectangle of its own; such nodes are gathered to rectangles of this width.
inline constexpr float kLeastNode = 3, kStrip = 6;

/// All rectangles of a window, row by row and from left to right, never more than width / kLeastNode a row. The cost
/// depends on the pixels, not on the nodes.
void lay_out(const TreeIndex& tree, const IcicleWindow& window, std::vector<IcicleCell>& cells);

/// The rectangle at a pixel of a row; null if there is none.
const IcicleCell* cell_at(const std::vector<IcicleCell>& cells, float x, std::uint32_t row);

}  // namespace canopy::inspector
