#include "list_table.h"

#include <algorithm>

namespace canopy::inspector {
namespace {

ImU32 colour_of(listing::Tone tone) {
  const Palette& colours = palette();
  switch (tone) {
    case listing::Tone::dim:
      return colours.dim;
    case listing::Tone::accent:
      return colours.accent;
    case listing::Tone::good:
      return colours.good;
    case listing::Tone::warn:
      return colours.warn;
    case listing::Tone::bad:
      return colours.bad;
    case listing::Tone::plain:
      break;
  }
  return colours.text;
}

/// Draws a heading. If the list can be sorted, a click sorts by it, and another click turns the order around; numbers
/// begin with the largest.
void draw_head(const ListHead& head, ListOrder* order) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float width = std::max(1.F, ImGui::GetContentRegionAvail().x);
  if (!order) {
    ImGui::Dummy({width, ImGui::GetTextLineHeight()});
  } else {
    ImGui::PushID(head.head.c_str());
    if (ImGui::InvisibleButton("head", {width, ImGui::GetTextLineHeight()}))
      *order = {head.head, order->head == head.head ? !order->falling : head.is_number};
    ImGui::PopID();
  }
  const bool sorts = order && order->head == head.head;
  const ImU32 colour = sorts || (order && ImGui::IsItemHovered()) ? palette().text : palette().dim;
  if (!head.help.empty()) explain(head.help);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float size = em() * 0.28F;
  const std::string words = fitted(head.words, width - (sorts ? size * 3 : 0));
  const float wide = ImGui::CalcTextSize(words.c_str()).x;
  const float x = head.is_number ? from.x + width - wide : from.x;
  list->AddText({x, from.y}, colour, words.c_str());
  if (!sorts) return;
  const float at = head.is_number ? x - size * 2 : x + wide + size * 2;
  const float y = from.y + ImGui::GetTextLineHeight() / 2, up = order->falling ? size * 0.8F : -size * 0.8F;
  list->AddTriangleFilled({at - size, y - up * 0.6F}, {at + size, y - up * 0.6F}, {at, y + up}, colour);
}

}  // namespace

bool begin_list(const char* id, std::span<const ListHead> heads, bool scrolls, ListOrder* order) {
  const float width = ImGui::GetContentRegionAvail().x;
  if (!ImGui::BeginTable(
          id, static_cast<int>(heads.size()),
          ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp | (scrolls ? ImGuiTableFlags_ScrollY : 0)))
    return false;
  if (scrolls) ImGui::TableSetupScrollFreeze(0, 1);
  for (const ListHead& head : heads) {
    const bool left_out = width < head.least_room * em();
    ImGui::TableSetupColumn(
        "", (head.room > 0 ? ImGuiTableColumnFlags_WidthFixed : 0) | (left_out ? ImGuiTableColumnFlags_Disabled : 0),
        head.room * em());
  }
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (const ListHead& head : heads)
    if (ImGui::TableNextColumn()) draw_head(head, order);
  return true;
}

void show_row(std::size_t row) {
  const float tall = ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
  const float y = static_cast<float>(row) * tall, seen = ImGui::GetWindowHeight() - 2 * tall;
  if (y < ImGui::GetScrollY() || y > ImGui::GetScrollY() + seen) ImGui::SetScrollY(std::max(0.F, y - seen / 2));
}

bool row_button(float height, bool chosen, bool enabled, bool overlap) {
  const float tall = std::max(0.F, height * em() - 2 * ImGui::GetStyle().CellPadding.y);
  return ImGui::Selectable("##row", chosen,
                           ImGuiSelectableFlags_SpanAllColumns | (overlap ? ImGuiSelectableFlags_AllowItemOverlap : 0) |
                               (enabled ? 0 : ImGuiSelectableFlags_Disabled),
                           {0, tall});
}

void list_cell(const listing::Value& value, listing::Unit unit, listing::Tone tone, float height) {
  if (height > 0)
    ImGui::SetCursorPosY(ImGui::GetCursorPosY() + (height * em() - ImGui::GetTextLineHeight()) / 2 -
                         ImGui::GetStyle().CellPadding.y);
  const std::string words = in_brief(value, unit);
  const bool is_words = unit == listing::Unit::text;
  if (tone == listing::Tone::plain && !is_words && is_nothing(value)) tone = listing::Tone::dim;
  ImGui::PushStyleColor(ImGuiCol_Text, colour_of(tone));
  if (is_words) text(fitted(words, ImGui::GetContentRegionAvail().x));
  else number(words);
  ImGui::PopStyleColor();
}

}  // namespace canopy::inspector
