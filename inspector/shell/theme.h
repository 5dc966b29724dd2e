#pragma once

#include <span>

namespace canopy::inspector {

/// Sets ImGui's colours and distances from the inspector's palette, for letters of `scale` times 14 pixels. The font is
/// that of `font`, the bytes of a TrueType file, or ImGui's own if it is empty. Make the font texture again afterwards.
/// REQUIRES: the bytes outlive ImGui's context.
void apply_theme(bool light, float scale, std::span<const char> font = {});

}  // namespace canopy::inspector
