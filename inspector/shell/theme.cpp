#include "theme.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include <views/palette.h>

namespace canopy::inspector {
namespace {

void load_font(float scale, std::span<const char> font) {
  // Latin, general punctuation for dashes and ellipses, and arrows.
  static const ImWchar kRanges[] = {0x20, 0xFF, 0x100, 0x17F, 0x2010, 0x2027, 0x2190, 0x2193, 0};
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  ImFontConfig config;
  config.OversampleH = config.OversampleV = 2;
  const float size = std::round(14 * scale);
  config.FontDataOwnedByAtlas = false;  // the atlas never writes to bytes that it does not own
  if (!font.empty() &&
      atlas.AddFontFromMemoryTTF(const_cast<char*>(font.data()), static_cast<int>(font.size()), size, &config, kRanges))
    return;
  config.OversampleH = config.OversampleV = 1;
  config.SizePixels = 13 * std::max(1.F, std::round(scale));
  atlas.AddFontDefault(&config);
}

}  // namespace

void apply_theme(bool light, float scale, std::span<const char> font) {
  use_palette(light ? light_palette() : dark_palette());
  load_font(scale, font);
  const Palette& colours = palette();
  ImGuiStyle style;
  style.WindowRounding = 4;
  style.FrameRounding = 3;
  style.ScrollbarRounding = 3;
  style.PopupRounding = 4;
  style.WindowBorderSize = 0;
  style.PopupBorderSize = 1;
  style.WindowPadding = {8, 6};
  style.FramePadding = {6, 3};
  style.ItemSpacing = {8, 4};
  style.CellPadding = {4, 2};
  style.ScrollbarSize = 10;
  style.ScaleAllSizes(scale);
  style.WindowMinSize = {1, 1};  // ImGui wants at least this at any scale
  const auto set = [&](ImGuiCol which, ImU32 colour) { style.Colors[which] = ImGui::ColorConvertU32ToFloat4(colour); };
  const ImU32 raised = mixed(colours.panel, colours.text, 0.09F), over = mixed(colours.panel, colours.text, 0.18F);
  set(ImGuiCol_Text, colours.text);
  set(ImGuiCol_TextDisabled, colours.dim);
  set(ImGuiCol_WindowBg, colours.panel);
  set(ImGuiCol_ChildBg, with_alpha(colours.panel, 0));
  set(ImGuiCol_PopupBg, mixed(colours.panel, colours.background, 0.3F));
  set(ImGuiCol_Border, colours.line);
  set(ImGuiCol_FrameBg, raised);
  set(ImGuiCol_FrameBgHovered, over);
  set(ImGuiCol_FrameBgActive, over);
  set(ImGuiCol_Button, raised);
  set(ImGuiCol_ButtonHovered, over);
  set(ImGuiCol_ButtonActive, mixed(over, colours.accent, 0.5F));
  set(ImGuiCol_Header, with_alpha(colours.accent, 0.35F));
  set(ImGuiCol_HeaderHovered, with_alpha(colours.accent, 0.22F));
  set(ImGuiCol_HeaderActive, with_alpha(colours.accent, 0.45F));
  set(ImGuiCol_Separator, colours.line);
  set(ImGuiCol_Tab, colours.panel);
  set(ImGuiCol_TabHovered, over);
  set(ImGuiCol_TabActive, raised);
  set(ImGuiCol_TabUnfocused, colours.panel);
  set(ImGuiCol_TabUnfocusedActive, raised);
  set(ImGuiCol_ScrollbarBg, with_alpha(colours.panel, 0));
  set(ImGuiCol_ScrollbarGrab, over);
  set(ImGuiCol_ScrollbarGrabHovered, mixed(over, colours.text, 0.2F));
  set(ImGuiCol_ScrollbarGrabActive, mixed(over, colours.text, 0.3F));
  set(ImGuiCol_TableHeaderBg, mixed(colours.panel, colours.text, 0.05F));
  set(ImGuiCol_TableBorderLight, colours.line);
  set(ImGuiCol_TableBorderStrong, colours.line);
  set(ImGuiCol_TableRowBg, with_alpha(colours.panel, 0));
  set(ImGuiCol_TableRowBgAlt, with_alpha(colours.text, 0.025F));
  set(ImGuiCol_TextSelectedBg, with_alpha(colours.accent, 0.4F));
  set(ImGuiCol_NavHighlight, colours.accent);
  ImGui::GetStyle() = style;
}

}  // namespace canopy::inspector
