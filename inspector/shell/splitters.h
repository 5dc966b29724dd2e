#pragma once

#include <optional>

#include "layout.h"

namespace canopy::inspector {

/// Lets the user drag the gaps between panels. A double click on a gap restores the table's sizes on both sides.
class Splitters {
 public:
  /// Applies the mouse's action in this frame. Draws the gap that is hovered or held.
  void update(const Layout& layout, Shares& shares);

 private:
  std::optional<std::size_t> held_;  ///< an index in Layout::gaps
};

}  // namespace canopy::inspector
