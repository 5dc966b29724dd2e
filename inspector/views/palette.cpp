#include "palette.h"

#include <algorithm>
#include <cmath>

namespace canopy::inspector {
namespace {

constexpr ImU32 rgb(std::uint32_t hex) { return IM_COL32(hex >> 16 & 255, hex >> 8 & 255, hex & 255, 255); }

constexpr std::array<ImU32, 8> kSpaces = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x35B08A), rgb(0xCC79A7),
                                          rgb(0xE8DD5A), rgb(0x7E9BD9), rgb(0xE07B4A), rgb(0xA9B4C0)};
// `heat` is one hue from faint to strong: in either theme, a higher value is further from the background. Selections,
// links and warnings have colours that no state has.
constexpr Palette kDark = {.background = rgb(0x14171C),
                           .panel = rgb(0x1B1F26),
                           .line = rgb(0x2E343E),
                           .text = rgb(0xE7EAEF),
                           .dim = rgb(0x9CA7B5),
                           .accent = rgb(0xB9ABF2),
                           .accent_text = rgb(0x0F1216),
                           .free = rgb(0x3F4856),
                           .evictable = rgb(0x56B4E9),
                           .protected_ = rgb(0xE69F00),
                           .owned = rgb(0xCC79A7),
                           .tombstone = rgb(0x6B7480),
                           .absent = rgb(0x0B0D10),
                           .in_pools = rgb(0xE8DD5A),
                           .in_both = rgb(0x35B08A),
                           .on_host = rgb(0x7E9BD9),
                           .good = rgb(0x35B08A),
                           .warn = rgb(0xF0E442),
                           .bad = rgb(0xF0764A),
                           .on_fill = rgb(0x0F1216),
                           .selected = rgb(0xFFFFFF),
                           .spaces = kSpaces,
                           .heat = {rgb(0x3B4A63), rgb(0x4A6E9C), rgb(0x56A0D0), rgb(0xA9C77A), rgb(0xF5E04C)}};
constexpr Palette kLight = {.background = rgb(0xECEEF2),
                            .panel = rgb(0xFFFFFF),
                            .line = rgb(0xD3D8E0),
                            .text = rgb(0x1A1E25),
                            .dim = rgb(0x596373),
                            .accent = rgb(0x5A48B0),
                            .accent_text = rgb(0xFFFFFF),
                            .free = rgb(0xD3D9E1),
                            .evictable = rgb(0x6FC1EE),
                            .protected_ = rgb(0xE8A51B),
                            .owned = rgb(0xD58AB3),
                            .tombstone = rgb(0xA3ADBA),
                            .absent = rgb(0xFAFBFC),
                            .in_pools = rgb(0xE0C93A),
                            .in_both = rgb(0x35B08A),
                            .on_host = rgb(0x7E9BD9),
                            .good = rgb(0x00734F),
                            .warn = rgb(0x6E6100),
                            .bad = rgb(0xB84300),
                            .on_fill = rgb(0x10141A),
                            .selected = rgb(0x000000),
                            .spaces = kSpaces,
                            .heat = {rgb(0xDCE6F2), rgb(0xB5CFE8), rgb(0x86B6DC), rgb(0x7FB37C), rgb(0xD8A200)}};

const Palette* used = &kDark;

}  // namespace

const Palette& dark_palette() { return kDark; }
const Palette& light_palette() { return kLight; }
const Palette& palette() { return *used; }
void use_palette(const Palette& which) { used = &which; }

ImU32 ink_on(ImU32 fill) {
  const ImVec4 of = ImGui::ColorConvertU32ToFloat4(fill);
  return 0.299F * of.x + 0.587F * of.y + 0.114F * of.z > 0.45F ? palette().on_fill : palette().text;
}

ImU32 with_alpha(ImU32 colour, float alpha) {
  return (colour & ~IM_COL32_A_MASK) | static_cast<ImU32>(std::clamp(alpha, 0.F, 1.F) * 255) << IM_COL32_A_SHIFT;
}

ImU32 mixed(ImU32 from, ImU32 to, float share) {
  const ImVec4 a = ImGui::ColorConvertU32ToFloat4(from), b = ImGui::ColorConvertU32ToFloat4(to);
  const auto between = [&](float x, float y) { return x + (y - x) * std::clamp(share, 0.F, 1.F); };
  return ImGui::ColorConvertFloat4ToU32({between(a.x, b.x), between(a.y, b.y), between(a.z, b.z), between(a.w, b.w)});
}

ImU32 Palette::warmth(float share) const {
  const float at = std::clamp(share, 0.F, 1.F) * static_cast<float>(heat.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), heat.size() - 2);
  return mixed(heat[low], heat[low + 1], at - static_cast<float>(low));
}

ImU32 Palette::of(NamespaceId space) const {
  const auto number = static_cast<std::size_t>(space);
  const ImU32 hue = spaces[number % spaces.size()];
  switch (number / spaces.size() % kShades) {
    case 1:
      return mixed(hue, panel, 0.5F);
    case 2:
      return mixed(hue, text, 0.55F);
    default:
      return hue;
  }
}

ImU32 colour_of(const MirrorNode& node, NodeState state, ColourBy by, Tick now) {
  const Palette& colours = palette();
  switch (by) {
    case ColourBy::state:
    case ColourBy::tier:  // a node may be in two tiers, see draw_place
      break;
    case ColourBy::recency: {
      // Each step of the scale is an age eight times that of the step before.
      const double age = static_cast<double>(now > node.last_access ? now - node.last_access : 0);
      return colours.warmth(1 - static_cast<float>(std::log2(1 + age) / 12));
    }
    case ColourBy::hits:
      return colours.warmth(static_cast<float>(std::log2(1.0 + node.uses()) / 8));
    case ColourBy::space:
      return colours.of(node.space);
  }
  return colours.of(state);
}

}  // namespace canopy::inspector
