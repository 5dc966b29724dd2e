#pragma once

#include "tree_index.h"

namespace canopy::inspector {

/// Part of the tree that a panel shows: tokens from left to right, levels from top to bottom.
struct IcicleWindow {
  double left = 0, right = 1;  ///< tokens
  float width = 0;             ///< pixels
  std::size_t top = 0, rows = 0;
};

/// A rectangle of the picture: one node, or several neighbours on a level that are too narrow to show separately.
struct IcicleCell {
  float x0 = 0, x1 = 0;  ///< pixels from the panel's left edge
  std::uint32_t row = 0;
  std::uint32_t first = 0, count = 0;  ///< places in the index
};

/// Width in pixels below which a node has no rectangle of its own; such nodes are gathered into rectangles of width
/// kStrip.
inline constexpr float kLeastNode = 3, kStrip = 6;

/// Computes all rectangles of a window, row by row and from left to right, at most width / kLeastNode per row. The cost
/// depends on the pixels, not on the nodes.
void lay_out(const TreeIndex& tree, const IcicleWindow& window, std::vector<IcicleCell>& cells);

/// Returns the rectangle at a pixel of a row, or null if there is none.
const IcicleCell* cell_at(const std::vector<IcicleCell>& cells, float x, std::uint32_t row);

}  // namespace canopy::inspector
