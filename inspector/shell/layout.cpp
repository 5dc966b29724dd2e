#include "layout.h"

#include <algorithm>
#include <cmath>

namespace canopy::inspector {
namespace {

/// The tabs share one place at the end of the bottom row, with this share of its width.
constexpr unsigned kShareOfTabs = 38;

/// Gives each panel of a row its part of the row's area, from left to right; the last one takes what is left.
void split_row(std::span<const PanelInfo> panels, Row row, const Area& all, float gap, std::vector<Area>& areas) {
  const bool has_tabs = row == Row::bottom && std::any_of(panels.begin(), panels.end(),
                                                          [](const PanelInfo& panel) { return panel.row == Row::tab; });
  unsigned shares = has_tabs ? kShareOfTabs : 0;
  std::size_t count = has_tabs;
  for (const PanelInfo& panel : panels)
    if (panel.row == row) shares += panel.share, ++count;
  const float width = all.width - gap * static_cast<float>(std::max<std::size_t>(count, 1) - 1);
  float x = all.x, used = 0;
  const auto next = [&](unsigned share) {
    const float part =
        --count == 0 ? width - used : std::round(width * static_cast<float>(share) / static_cast<float>(shares));
    const Area area{x, all.y, part, all.height};
    x += part + gap, used += part;
    return area;
  };
  for (std::size_t i = 0; i < panels.size(); ++i)
    if (panels[i].row == row) areas[i] = next(panels[i].share);
  if (!has_tabs) return;
  const Area tabs = next(kShareOfTabs);
  for (std::size_t i = 0; i < panels.size(); ++i)
    if (panels[i].row == Row::tab) areas[i] = tabs;
}

}  // namespace

Layout lay_out_panels(std::span<const PanelInfo> panels, float width, float height, float em) {
  const float gap = std::round(em * 0.3F);
  const float header = std::round(em * 2.1F), health = std::round(em * 3.6F), time = std::round(em * 2.8F);
  // The tree has most to show; the panels below it need some lines and no more.
  const float rest = std::max(0.F, height - header - health - time - 7 * gap);
  const float top = std::round(rest * 0.42F), middle = std::round(rest * 0.31F), bottom = rest - top - middle;
  Layout layout;
  layout.panels.resize(panels.size());
  float y = gap;
  const auto row = [&](Row which, float tall) {
    const Area area{gap, y, width - 2 * gap, tall};
    split_row(panels, which, area, gap, layout.panels);
    y += tall + gap;
    return area;
  };
  row(Row::header, header);
  layout.body = {gap, y, width - 2 * gap, height - y - gap};
  row(Row::health, health);
  layout.rows = row(Row::top, top);
  row(Row::middle, middle);
  const Area last = row(Row::bottom, bottom);
  layout.rows.height = last.to().y - layout.rows.y;
  row(Row::time, time);
  return layout;
}

}  // namespace canopy::inspector
