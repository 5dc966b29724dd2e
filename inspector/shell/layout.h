#pragma once

#include <array>

#include <views/draw.h>

namespace canopy::inspector {

/// Where each panel is, from the size of the window and of the letters alone.
struct Layout {
  Area header, health, tree, node, pool, sizes, leave, requests, tabs, time;
  std::array<Area, 10> all() const { return {header, health, tree, node, pool, sizes, leave, requests, tabs, time}; }
};

/// Panels never overlap and never leave the window. Below about 90 by 46 ems they get too small to be read.
Layout lay_out_panels(float width, float height, float em);

}  // namespace canopy::inspector
