#pragma once

#include "draw.h"
#include "what_if_lines.h"

namespace canopy::inspector {

/// Hit rate over the limit (logarithmic), a line each with its name at its end. Above the ceiling the ground is
/// hatched. `now`: the engine's limit in tokens, marked if it lies within the chart; 0: none. `own`: the name of the
/// line that is drawn thicker. A tooltip has the figures of the limit under the mouse.
void draw_what_if_chart(const WhatIfLines& all, const Area& area, std::uint64_t now, const std::string& own);

/// The colour of a line.
ImU32 colour_of(const WhatIfLine& line);

}  // namespace canopy::inspector
