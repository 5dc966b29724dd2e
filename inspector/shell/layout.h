#pragma once

#include <span>
#include <vector>

#include <views/draw.h>
#include <views/panel.h>

namespace canopy::inspector {

/// Where each panel is.
struct Layout {
  std::vector<Area> panels;  ///< by place in the table; all tabs have the same one
  Area rows;                 ///< all between the health bar and the time bar: a panel that fills the window
  Area body;                 ///< all below the header: what a notice or the list of feeds has
};

/// From the table, the size of the window and of the letters alone. Panels never overlap and never leave the window.
/// Below about 90 by 46 ems they get too small to be read.
Layout lay_out_panels(std::span<const PanelInfo> panels, float width, float height, float em);

}  // namespace canopy::inspector
