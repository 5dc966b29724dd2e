#pragma once

#include <string>

#include <views/palette.h>
#include <views/tree_view.h>
#include "layout.h"

namespace canopy::inspector {

/// Settings kept from one run to the next: $XDG_CONFIG_HOME/canopy/inspector.ini, lines of `key = value`.
struct Settings {
  bool light = false;
  float scale = 0;  ///< scale of letters and distances; 0: that of the display
  ColourBy colour = ColourBy::state;
  TreeView tree = TreeView::icicle;
  int width = 1600, height = 900;  ///< pixels of the window
  Shares shares;                   ///< sizes of panels that the user dragged

  static std::string path();  ///< empty if neither variable names a folder
  /// Reads a file. Skips lines that make no sense.
  static Settings load(const std::string& path);
  friend bool operator==(const Settings&, const Settings&) = default;
  /// Writes a file, completely or not at all. Returns false if it could not be written, which is no error: the next run
  /// then starts like this one.
  bool save(const std::string& path) const;
};

}  // namespace canopy::inspector
