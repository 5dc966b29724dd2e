#include "ink.h"

#include <algorithm>
#include <cmath>

namespace canopy::test {

std::string Ink::text() const {
  std::vector<const Line*> order;
  for (const Line& line : lines()) order.push_back(&line);
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
  for (const Line& line : lines())
    if (line.text.find(words) != std::string::npos) return &line;
  return nullptr;
}

std::vector<ImU32> Ink::paint_at(ImVec2 at) {
  const auto side = [&](const ImVec2& a, const ImVec2& b) {
    return (b.x - a.x) * (at.y - a.y) - (b.y - a.y) * (at.x - a.x);
  };
  std::vector<ImU32> colours;
  const ImDrawData& data = *ImGui::GetDrawData();
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      const ImVec4& clip = command.ClipRect;
      if (at.x < clip.x || at.y < clip.y || at.x >= clip.z || at.y >= clip.w) continue;
      for (unsigned k = 0; k + 2 < command.ElemCount; k += 3) {
        const auto corner = [&](unsigned n) -> const ImDrawVert& {
          return list.VtxBuffer[static_cast<int>(command.VtxOffset) +
                                list.IdxBuffer[static_cast<int>(command.IdxOffset + k + n)]];
        };
        const float x = side(corner(0).pos, corner(1).pos), y = side(corner(1).pos, corner(2).pos),
                    z = side(corner(2).pos, corner(0).pos);
        if ((x > 0 && y > 0 && z > 0) || (x < 0 && y < 0 && z < 0)) colours.push_back(corner(0).col);
      }
    }
  }
  return colours;
}

std::vector<std::string> Ink::overprinted() const {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < lines().size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const Line &a = lines()[i], &b = lines()[k];
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
  for (const Line& line : lines())
    if (line.from.x < line.clip.x - 1.5F || line.to.x > line.clip.z + 1.5F) found.push_back(line.text);
  return found;
}

}  // namespace canopy::test
