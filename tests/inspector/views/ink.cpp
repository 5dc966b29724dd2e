#include "ink.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace canopy::test {
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

bool in_sight(const Ink::Letter& letter) {
  return letter.from.x < letter.clip.z && letter.to.x > letter.clip.x && letter.from.y < letter.clip.w &&
         letter.to.y > letter.clip.y;
}

}  // namespace

Ink::Ink() {
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

std::string Ink::text() const {
  std::vector<const Line*> order;
  for (const Line& line : lines_) order.push_back(&line);
  const auto row = [](const Line& line) { return std::round((line.from.y + line.to.y) / 2 / 10); };
  std::sort(order.begin(), order.end(), [&](const Line* a, const Line* b) {
    if (a->list != b->list) return a->list < b->list;
    if (row(*a) != row(*b)) return row(*a) < row(*b);
    return a->from.x != b->from.x ? a->from.x < b->from.x : a < b;
  });
  std::string all;
  for (const Line* line : order) all += line->text + "\n";
  return all;
}

const Ink::Line* Ink::find(const std::string& words) const {
  for (const Line& line : lines_)
    if (line.text.find(words) != std::string::npos) return &line;
  return nullptr;
}

std::vector<std::string> Ink::overprinted() const {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < lines_.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const Line &a = lines_[i], &b = lines_[k];
      if (a.list != b.list) continue;
      // A letter's box is a little larger than its ink.
      const float wide = std::min(a.to.x, b.to.x) - std::max(a.from.x, b.from.x);
      const float high = std::min(a.to.y, b.to.y) - std::max(a.from.y, b.from.y);
      const float least = std::min(a.to.y - a.from.y, b.to.y - b.from.y);
      if (wide > 3 && high > least * 0.4F) found.push_back(a.text + " / " + b.text);
    }
  return found;
}

std::vector<std::string> Ink::cut() const {
  std::vector<std::string> found;
  for (const Line& line : lines_)
    if (line.from.x < line.clip.x - 1.5F || line.to.x > line.clip.z + 1.5F) found.push_back(line.text);
  return found;
}

}  // namespace canopy::test
