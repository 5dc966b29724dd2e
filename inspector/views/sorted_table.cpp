#include "sorted_table.h"

#include <algorithm>

namespace canopy::inspector {

bool sorted_heads(std::initializer_list<SortedHead> heads, TableOrder& order) {
  bool changed = false;
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  std::size_t column = 0;
  for (const SortedHead& head : heads) {
    if (!ImGui::TableNextColumn()) {  // it is hidden
      ++column;
      continue;
    }
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const float width = std::max(1.F, ImGui::GetContentRegionAvail().x);
    ImGui::PushID(static_cast<int>(column));
    if (ImGui::InvisibleButton("head", {width, ImGui::GetTextLineHeight()})) {
      order.falling = order.column == column ? !order.falling : head.is_number;
      order.column = column;
      changed = true;
    }
    const ImU32 colour = ImGui::IsItemHovered() || order.column == column ? palette().text : palette().dim;
    if (*head.help != 0) explain(head.help);
    ImGui::PopID();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float size = em() * 0.28F, mark = order.column == column ? size * 3 : 0;
    const std::string name = fitted(head.name, width - mark);
    const float wide = ImGui::CalcTextSize(name.c_str()).x;
    const float x = head.is_number ? from.x + width - wide : from.x;
    list->AddText({x, from.y}, colour, name.c_str());
    if (order.column == column) {
      const float at = head.is_number ? x - size * 2 : x + wide + size * 2;
      const float y = from.y + ImGui::GetTextLineHeight() / 2, up = order.falling ? size * 0.8F : -size * 0.8F;
      list->AddTriangleFilled({at - size, y - up * 0.6F}, {at + size, y - up * 0.6F}, {at, y + up}, colour);
    }
    ++column;
  }
  return changed;
}

}  // namespace canopy::inspector
