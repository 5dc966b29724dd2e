#pragma once

#include <string>

#include <views/palette.h>
#include <views/tree_view.h>
#include "layout.h"

namespace canopy::inspector {

/// What is kept from one run to the next: $XDG_CONFIG_HOME/canopy/inspector.ini, lines of `key = value`.
struct Settings {
  bool light = false;
  float scale = 0;  ///< of letters and distances; 0: the display's
  ColourBy colour = ColourBy::state;
  TreeView tree = TreeView::icicle;
  int width = 1600, height = 900;  ///< of the window
  Shares shares;                   ///< what panels were dragged to

  static std::string path();  ///< empty if neither variable names a folder
  /// Reads a file; a line that makes no sense is skipped.
  static Settings load(const std::string& path);
  friend bool operator==(const Settings&, const Settings&) = default;
  /// Whole or not at all. False if it could not be written. That is no error: the next run starts as this one did.
  bool save(const std::string& path) const;
};

}  // namespace canopy::inspector
