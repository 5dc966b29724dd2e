#include "layout.h"

#include <algorithm>
#include <cmath>

namespace canopy::inspector {
namespace {

/// Share of the bottom row's width for the tabs, which share one place at its end.
constexpr float kShareOfTabs = 46;
constexpr const char* kTabs = "TABS";

/// One of several parts of a length.
struct Part {
  std::string name;
  float share = 0;
  std::vector<std::size_t> panels{};  ///< panels drawn in this part; empty: the part is a row
};

float share_of(const Shares& shares, const std::string& name, float otherwise) {
  const auto found = shares.find(name);
  return found == shares.end() ? otherwise : found->second;
}

/// Returns the whole pixels of each part, in proportion to the shares; the last part takes the rest.
std::vector<float> divide(std::span<const Part> parts, float length) {
  float shares = 0, used = 0;
  for (const Part& part : parts) shares += part.share;
  std::vector<float> sizes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sizes.push_back(i + 1 == parts.size() ? length - used : std::round(length * parts[i].share / shares));
    used += sizes.back();
  }
  return sizes;
}

void add_gap(std::vector<Gap>& gaps, std::span<const Part> parts, std::span<const float> sizes, std::size_t after,
             const Area& area, bool upright) {
  const std::size_t before = after - 1;
  gaps.push_back({area,
                  upright,
                  parts[before].name,
                  parts[after].name,
                  {sizes[before], sizes[after]},
                  {parts[before].share, parts[after].share}});
}

/// Gives each panel of a row its part of the row's area, from left to right.
void split_row(std::span<const PanelInfo> panels, Row row, const Area& all, float gap, const Shares& shares,
               Layout& layout) {
  std::vector<Part> parts;
  Part tabs{kTabs, share_of(shares, kTabs, kShareOfTabs)};
  for (std::size_t i = 0; i < panels.size(); ++i) {
    if (panels[i].row == row)
      parts.push_back({panels[i].title, share_of(shares, panels[i].title, static_cast<float>(panels[i].share)), {i}});
    if (panels[i].row == Row::tab) tabs.panels.push_back(i);
  }
  if (row == Row::bottom && !tabs.panels.empty()) parts.push_back(std::move(tabs));
  if (parts.empty()) return;
  const std::vector<float> sizes = divide(parts, all.width - gap * static_cast<float>(parts.size() - 1));
  float x = all.x;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) add_gap(layout.gaps, parts, sizes, i, {x - gap, all.y, gap, all.height}, true);
    for (const std::size_t panel : parts[i].panels) layout.panels[panel] = {x, all.y, sizes[i], all.height};
    x += sizes[i] + gap;
  }
}

}  // namespace

namespace {

/// Sizes in ems below which panels beside each other would be too small to read.
constexpr float kLeastWidth = 60, kLeastHeight = 34;

}  // namespace

Layout lay_out_panels(std::span<const PanelInfo> panels, float width, float height, float em, const Shares& shares) {
  const float gap = std::round(em * 0.3F);
  const float header = std::round(em * 2.1F), health = std::round(em * 3.6F), time = std::round(em * 2.8F);
  // The tree needs the most room; the panels below it need only some lines.
  const std::vector<Part> parts = {{"top", share_of(shares, "top", 38)},
                                   {"middle", share_of(shares, "middle", 33)},
                                   {"bottom", share_of(shares, "bottom", 29)}};
  const std::vector<float> tall = divide(parts, std::max(0.F, height - header - health - time - 7 * gap));
  Layout layout;
  layout.panels.resize(panels.size());
  float y = gap;
  const auto row = [&](Row which, float pixels) {
    const Area area{gap, y, width - 2 * gap, pixels};
    split_row(panels, which, area, gap, shares, layout);
    y += pixels + gap;
    return area;
  };
  row(Row::header, header);
  layout.body = {gap, y, width - 2 * gap, height - y - gap};
  row(Row::health, health);
  if (width < kLeastWidth * em || height < kLeastHeight * em) {
    layout.chooser = {gap, y, width - 2 * gap, header};
    y += header + gap;
    layout.rows = {gap, y, width - 2 * gap, std::max(0.F, height - y - time - 2 * gap)};
    y = layout.rows.to().y + gap;
    row(Row::time, time);
    return layout;
  }
  layout.rows = row(Row::top, tall[0]);
  add_gap(layout.gaps, parts, tall, 1, {gap, y - gap, width - 2 * gap, gap}, false);
  row(Row::middle, tall[1]);
  add_gap(layout.gaps, parts, tall, 2, {gap, y - gap, width - 2 * gap, gap}, false);
  const Area last = row(Row::bottom, tall[2]);
  layout.rows.height = last.to().y - layout.rows.y;
  row(Row::time, time);
  return layout;
}

void move_gap(const Gap& gap, float pixels, float least, Shares& shares) {
  const float both = gap.sizes[0] + gap.sizes[1], share = gap.shares[0] + gap.shares[1];
  if (both <= 0) return;
  const float lowest = std::min(least, gap.sizes[0]), highest = both - std::min(least, gap.sizes[1]);
  const float before = std::clamp(gap.sizes[0] + pixels, lowest, std::max(lowest, highest));
  shares[gap.before] = share * before / both;
  shares[gap.after] = share - shares[gap.before];
}

}  // namespace canopy::inspector
