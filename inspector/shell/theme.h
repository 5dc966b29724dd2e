#pragma once

#include <string>

namespace canopy::inspector {

/// Sets ImGui's colours and distances from the inspector's palette, for letters of `scale` times 14 pixels. The font is
/// DejaVu Sans if the system has it ($CANOPY_FONT names another file), otherwise ImGui's own. Make the font texture
/// again afterwards.
void apply_theme(bool light, float scale);

}  // namespace canopy::inspector
