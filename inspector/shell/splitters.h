#pragma once

#include <optional>

#include "layout.h"

namespace canopy::inspector {

/// Lets a person drag the gaps between panels. A double click on a gap gives both its sides the table's size again.
class Splitters {
 public:
  /// What the mouse does in this frame. Draws the gap that is under it or held.
  void update(const Layout& layout, Shares& shares);

 private:
  std::optional<std::size_t> held_;  ///< a place in Layout::gaps
};

}  // namespace canopy::inspector
