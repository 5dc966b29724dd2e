#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <views/draw.h>
#include <views/panel.h>

namespace canopy::inspector {

/// What panels and rows were dragged to: their parts, in proportion to the others beside or above them. By a panel's
/// title, "TABS", or a row ("top", "middle", "bottom"). The table's own proportions hold for what is not in it.
using Shares = std::map<std::string, float, std::less<>>;

/// The gap between two panels of a row, or between two rows. Dragged, it takes from one what it gives to the other.
struct Gap {
  Area area;
  bool upright = false;       ///< between two panels
  std::string before, after;  ///< names in Shares
  float sizes[2] = {};        ///< pixels of both sides, across the gap
  float shares[2] = {};       ///< their parts now
};

/// Where each panel is.
struct Layout {
  std::vector<Area> panels;  ///< by place in the table; all tabs have the same one
  Area rows;                 ///< all between the health bar and the time bar: a panel that fills the window
  Area body;                 ///< all below the header: what a notice or the list of feeds has
  std::vector<Gap> gaps;
};

/// From the table, the size of the window and of the letters, and what was dragged alone. Panels never overlap and
/// never leave the window. Below about 90 by 46 ems they get too small to be read.
Layout lay_out_panels(std::span<const PanelInfo> panels, float width, float height, float em,
                      const Shares& shares = {});

/// Moves a gap by so many pixels to the right, or down. No side gets smaller than `least` pixels, or than it is.
void move_gap(const Gap& gap, float pixels, float least, Shares& shares);

}  // namespace canopy::inspector
