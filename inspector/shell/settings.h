#pragma once

#include <string>
#include <string_view>

#include <account/time_axis.h>
#include <views/palette.h>
#include <views/tree_view.h>
#include "layout.h"

namespace canopy::inspector {

/// Settings kept from one run to the next: a window keeps them in a file, a page in the browser's local storage.
struct Settings {
  bool light = false;
  float scale = 0;  ///< scale of letters and distances; 0: that of the display
  ColourBy colour = ColourBy::state;
  TreeView tree = TreeView::icicle;
  AxisBy axis = AxisBy::clock;
  int width = 1600, height = 900;  ///< pixels of the window
  Shares shares;                   ///< sizes of panels that the user dragged

  /// Reads lines of `key = value`. Skips lines that make no sense.
  static Settings parse(std::string_view text);
  /// Returns the lines that parse() reads.
  std::string text() const;
  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace canopy::inspector
