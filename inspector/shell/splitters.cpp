#include "splitters.h"

namespace canopy::inspector {
namespace {

/// Returns the gap under the mouse, where there is no window.
std::optional<std::size_t> gap_under_mouse(const Layout& layout) {
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_AnyWindow)) return std::nullopt;
  for (std::size_t i = 0; i < layout.gaps.size(); ++i)
    if (ImGui::IsMouseHoveringRect(layout.gaps[i].area.from(), layout.gaps[i].area.to(), false)) return i;
  return std::nullopt;
}

}  // namespace

void Splitters::update(const Layout& layout, Shares& shares) {
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left) || (held_ && *held_ >= layout.gaps.size())) held_.reset();
  const std::optional<std::size_t> shown = held_ ? held_ : gap_under_mouse(layout);
  if (!shown) return;
  const Gap& gap = layout.gaps[*shown];
  ImGui::SetMouseCursor(gap.upright ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
  ImGui::GetBackgroundDrawList()->AddRectFilled(gap.area.from(), gap.area.to(), palette().accent);
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    shares.erase(gap.before), shares.erase(gap.after);
    held_.reset();
    return;
  }
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) held_ = shown;
  if (!held_) return;
  // Follows the mouse's position itself, so that a gap at its limit moves again when the mouse comes back.
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float pixels =
      gap.upright ? mouse.x - (gap.area.x + gap.area.width / 2) : mouse.y - (gap.area.y + gap.area.height / 2);
  if (pixels < -0.5F || pixels > 0.5F) move_gap(gap, pixels, gap.upright ? 12 * em() : 6 * em(), shares);
}

}  // namespace canopy::inspector
