#include "held_list.h"

#include <canopy/base/figures.h>

#include "draw.h"

namespace canopy::inspector {

void HeldList::look() {
  if (to_top()) ImGui::SetScrollY(0);
  scrolled_ = ImGui::GetScrollY() > 0;
  hovered_ = ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows);
}

void HeldList::draw_new(std::size_t count, const char* what) {
  if (count == 0) return;
  const std::string words = grouped(count) + " " + what;
  const float width = ImGui::CalcTextSize(words.c_str()).x + ImGui::GetStyle().FramePadding.x * 2;
  ImGui::SameLine();
  const float room = ImGui::GetContentRegionAvail().x - width;
  if (room < 0) return;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
  if (choice(words.c_str(), true)) wanted_ = true;
  explain(
      "The list holds still while it is scrolled, under the mouse, or contains the selected row. Click to show the new "
      "rows.");
}

}  // namespace canopy::inspector
