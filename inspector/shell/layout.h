#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <views/draw.h>
#include <views/panel.h>

namespace canopy::inspector {

/// Sizes that the user gave to panels and rows, as parts relative to the others beside or above them. Keys are a
/// panel's title, "TABS", or a row ("top", "middle", "bottom"). For missing keys, the proportions of the table apply.
using Shares = std::map<std::string, float, std::less<>>;

/// The gap between two panels of a row, or between two rows. Dragging it makes one side larger and the other smaller by
/// the same amount.
struct Gap {
  Area area;
  bool upright = false;       ///< true between two panels, false between two rows
  std::string before, after;  ///< names in Shares
  float sizes[2] = {};        ///< pixels of both sides, across the gap
  float shares[2] = {};       ///< current parts of both sides
};

/// Areas of the panels on the screen.
struct Layout {
  std::vector<Area> panels;  ///< by index in the table; all tabs have the same area
  Area rows;     ///< everything between the health bar and the time bar: the area of a panel that fills the window
  Area body;     ///< everything below the header: the area of a notice or of the list of feeds
  Area chooser;  ///< the list of panels of a small window; empty in any other
  std::vector<Gap> gaps;
};

/// Computes the areas, only from the table, the sizes of the window and the letters, and the dragged sizes. Panels
/// never overlap and never leave the window. In a small window, such as a phone's, only one panel at a time has room:
/// it fills the window, and `chooser` is the place of the list to choose it from.
Layout lay_out_panels(std::span<const PanelInfo> panels, float width, float height, float em,
                      const Shares& shares = {});

/// Moves a gap to the right, or down, by this many pixels. No side becomes smaller than `least` pixels, unless it
/// already is.
void move_gap(const Gap& gap, float pixels, float least, Shares& shares);

}  // namespace canopy::inspector
