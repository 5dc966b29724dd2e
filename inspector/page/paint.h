#pragma once

#include <imgui.h>
#include <shell/settings.h>

#include <span>

namespace canopy::inspector {

/// Sets the theme, and gives the page the picture of the font. `density`: pixels of the display in one of the page.
void make_textures(const Settings& settings, float density, std::span<const char> font);
/// Gives the page a frame to draw.
void paint(const ImDrawData& data);

}  // namespace canopy::inspector
