#pragma once

#include <string>

namespace canopy::inspector {

/// ImGui's colours and distances from our palette, for letters of `scale` times 14 pixels. The font is DejaVu Sans
/// where a system has it ($CANOPY_FONT names another file), and ImGui's own otherwise. The font texture must be made
/// anew afterwards.
void apply_theme(bool light, float scale);

}  // namespace canopy::inspector
