#include "screen_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace canopy::inspector {
namespace {

using Corner = std::pair<float, float>;

/// The characters of the font, by the place of their picture.
std::map<Corner, ImWchar> characters() {
  std::map<Corner, ImWchar> all;
  for (const ImFontGlyph& glyph : ImGui::GetIO().Fonts->Fonts[0]->Glyphs)
    if (glyph.Visible) all.emplace(Corner{glyph.U0, glyph.V0}, static_cast<ImWchar>(glyph.Codepoint));
  return all;
}

std::string utf8(ImWchar character) {
  const unsigned code = character;
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

bool in_sight(const ScreenText::Letter& letter) {
  return letter.from.x < letter.clip.z && letter.to.x > letter.clip.x && letter.from.y < letter.clip.w &&
         letter.to.y > letter.clip.y;
}

}  // namespace

ScreenText::ScreenText() {
  const std::map<Corner, ImWchar> known = characters();
  const float em = ImGui::GetIO().Fonts->Fonts[0]->FontSize;
  const ImDrawData& data = *ImGui::GetDrawData();
  for (int l = 0; l < data.CmdListsCount; ++l) {
    const ImDrawList& list = *data.CmdLists[l];
    for (const ImDrawCmd& command : list.CmdBuffer)
      for (unsigned i = 0; i + 5 < command.ElemCount;) {
        const auto vertex = [&](unsigned k) -> const ImDrawVert& {
          return list.VtxBuffer[static_cast<int>(command.VtxOffset +
                                                 list.IdxBuffer[static_cast<int>(command.IdxOffset + i + k)])];
        };
        const ImDrawVert &from = vertex(0), &to = vertex(2);
        const auto found = known.find({from.uv.x, from.uv.y});
        if (found == known.end() || vertex(3).pos.x != from.pos.x || to.uv.x <= from.uv.x || to.uv.y <= from.uv.y) {
          i += 3;
          continue;
        }
        const Letter letter{from.pos, to.pos, command.ClipRect, from.col, found->second, static_cast<std::size_t>(l)};
        if (in_sight(letter)) letters_.push_back(letter);
        i += 6;
      }
  }
  for (const Letter& letter : letters_) {
    Line* last = lines_.empty() ? nullptr : &lines_.back();
    const float gap = last ? letter.from.x - last->to.x : 0;
    const bool goes_on = last && last->list == letter.list && gap > -em * 0.5F && gap < em * 0.8F &&
                         std::abs((letter.from.y + letter.to.y) / 2 - (last->from.y + last->to.y) / 2) < em * 0.6F &&
                         last->clip.x == letter.clip.x && last->clip.z == letter.clip.z;
    if (!goes_on) {
      lines_.push_back({{}, letter.from, letter.to, letter.clip, letter.colour, letter.list});
      last = &lines_.back();
    } else if (gap > em * 0.18F) {
      last->text += ' ';
    }
    last->text += utf8(letter.character);
    last->from = {std::min(last->from.x, letter.from.x), std::min(last->from.y, letter.from.y)};
    last->to = {std::max(last->to.x, letter.to.x), std::max(last->to.y, letter.to.y)};
  }
}

std::string ScreenText::text_in(const Area& area) const {
  const auto middle = [](const Line& line) { return (line.from.y + line.to.y) / 2; };
  std::vector<const Line*> order;
  for (const Line& line : lines_) {
    const char* const window = ImGui::GetDrawData()->CmdLists[line.list]->_OwnerName;
    if (window != nullptr && std::string_view(window).starts_with("##Tooltip")) continue;
    const float x = (std::max(line.from.x, line.clip.x) + std::min(line.to.x, line.clip.z)) / 2, y = middle(line);
    if (x >= area.x && x < area.x + area.width && y >= area.y && y < area.y + area.height) order.push_back(&line);
  }
  std::ranges::sort(order, {}, [&](const Line* line) { return std::pair(middle(*line), line); });
  const float em = ImGui::GetIO().Fonts->Fonts[0]->FontSize;
  std::string all;
  for (auto row = order.begin(); row != order.end();) {
    const float top = middle(**row);
    const auto end = std::find_if(row, order.end(), [&](const Line* line) { return middle(*line) > top + em * 0.5F; });
    std::ranges::sort(row, end, {}, [](const Line* line) { return std::pair(line->from.x, line); });
    for (; row != end; ++row) all += (*row)->text + (row + 1 == end ? "\n" : "\t");
  }
  return all;
}

}  // namespace canopy::inspector
