#include "sizes_panel.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {

std::vector<SizesColumn> sizes_columns(const std::vector<Sample>& samples, std::size_t group, std::size_t most) {
  std::vector<SizesColumn> columns;
  const std::size_t count = std::min(most, samples.size());
  const Sample* before = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const Sample& sample = samples[(i + 1) * samples.size() / count - 1];
    SizesColumn column;
    column.pages = sample.pools[group];
    column.commit = sample.commit, column.us = sample.us;
    if (before) {
      if (sample.prompt_tokens > before->prompt_tokens)
        column.hit_share = static_cast<double>(sample.hit_tokens - before->hit_tokens) /
                           static_cast<double>(sample.prompt_tokens - before->prompt_tokens);
      column.evicted = static_cast<double>(sample.evicted_tokens - before->evicted_tokens);
    }
    columns.push_back(column);
    before = &sample;
  }
  return columns;
}

namespace {

struct Chart {
  ImVec2 from, to;
  float width() const { return to.x - from.x; }
  float height() const { return to.y - from.y; }
};

void draw_stack(ImDrawList* list, const Chart& chart, const std::vector<SizesColumn>& columns) {
  const Palette& colours = palette();
  const float width = chart.width() / static_cast<float>(columns.size());
  // Neighbours with equal figures are one box: an hour without a change costs one box.
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i + 1;
    while (end < columns.size() && columns[end].pages == columns[i].pages) ++end;
    const MirrorPool::Sums& pages = columns[i].pages;
    const std::uint64_t all = pages.free + pages.evictable + pages.protected_ + pages.owned;
    const float x0 = chart.from.x + width * static_cast<float>(i), x1 = chart.from.x + width * static_cast<float>(end);
    float y = chart.to.y;
    const auto part = [&](std::uint64_t of, ImU32 colour) {
      if (of == 0) return;
      const float top = y - chart.height() * static_cast<float>(of) / static_cast<float>(all);
      list->AddRectFilled({x0, top}, {x1, y}, colour);
      y = top;
    };
    part(pages.evictable, colours.evictable);
    part(pages.protected_, colours.protected_);
    part(pages.owned, colours.owned);
    part(pages.free, colours.free);
    i = end;
  }
}

void draw_bars(ImDrawList* list, const Chart& chart, const std::vector<SizesColumn>& columns) {
  const Palette& colours = palette();
  const float width = chart.width() / static_cast<float>(columns.size());
  double most = 1;
  for (const SizesColumn& column : columns) most = std::max(most, column.evicted);
  const float middle = (chart.from.y + chart.to.y) / 2;
  list->AddLine({chart.from.x, middle}, {chart.to.x, middle}, colours.line);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const float x0 = chart.from.x + width * static_cast<float>(i), x1 = std::max(x0 + 1, x0 + width - 0.5F);
    if (columns[i].hit_share > 0)
      list->AddRectFilled({x0, middle - static_cast<float>(columns[i].hit_share) * (middle - chart.from.y)},
                          {x1, middle}, colours.good);
    if (columns[i].evicted > 0)
      list->AddRectFilled({x0, middle + 1},
                          {x1, middle + 1 + static_cast<float>(columns[i].evicted / most) * (chart.to.y - middle - 1)},
                          colours.bad);
  }
}

/// Free, evictable, protected and owned pages over time, up to the limit; hit rate and evictions below.
class SizesPanel final : public Panel {
 public:
  void draw(Scene& scene) override {
    draw_legend();
    const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float foot = ImGui::GetTextLineHeight() * 1.1F;
    update(scene, static_cast<std::size_t>(std::max(1.F, room.x / std::max(2.F, em() / 6))));
    if (columns_.size() < 2 || room.y < foot * 3) return nothing_here("The chart begins with the first operations.");
    const float split = from.y + (room.y - foot) * 0.62F;
    const Chart stack{from, {from.x + room.x, split}},
        bars{{from.x, split + em() * 0.3F}, {from.x + room.x, from.y + room.y - foot}};
    ImGui::InvisibleButton("over time", {room.x, room.y - foot});
    ImDrawList* list = ImGui::GetWindowDrawList();
    draw_stack(list, stack, columns_);
    draw_bars(list, bars, columns_);
    draw_foot(scene, draw_cursor(scene, {from, bars.to}), room.x);
  }

 private:
  static void draw_legend() {
    const Palette& colours = palette();
    ImGui::SameLine(0, em() * 1.2F);
    swatch(colours.evictable, "evictable");
    ImGui::SameLine(0, em() * 0.7F);
    swatch(colours.protected_, "protected");
    ImGui::SameLine(0, em() * 0.7F);
    swatch(colours.owned, "owned");
    ImGui::SameLine(0, em() * 0.7F);
    swatch(colours.free, "free");
  }

  void update(const Scene& scene, std::size_t most) {
    if (at_ == scene.mirror.commits() && group_ == scene.selection.group && most_ == most) return;
    at_ = scene.mirror.commits(), group_ = scene.selection.group, most_ = most;
    columns_ = sizes_columns(scene.mirror.samples(), group_, most_);
  }

  /// One cursor for both charts, by commit, where the mouse is. The column that it is in; the last one without it.
  const SizesColumn& draw_cursor(Scene& scene, const Chart& both) const {
    if (!ImGui::IsItemHovered()) return columns_.back();
    const float share = std::clamp((ImGui::GetIO().MousePos.x - both.from.x) / both.width(), 0.F, 0.999F);
    const auto at = static_cast<std::size_t>(share * static_cast<float>(columns_.size()));
    if (scene.time.seekable && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) scene.time.seek(columns_[at].commit);
    const float x = both.from.x + both.width() * (static_cast<float>(at) + 0.5F) / static_cast<float>(columns_.size());
    ImGui::GetWindowDrawList()->AddLine({x, both.from.y}, {x, both.to.y}, palette().selected, std::max(1.F, em() / 12));
    return columns_[at];
  }

  void draw_foot(const Scene& scene, const SizesColumn& at, float width) const {
    const MirrorPool::Sums& pages = at.pages;
    const std::uint64_t all = pages.free + pages.evictable + pages.protected_ + pages.owned;
    const auto before = static_cast<double>(scene.mirror.us() - std::min(at.us, scene.mirror.us())) / 1e6;
    const std::string words = fmt::format(
        "{} {} in the tree   hit {}   out {} tok   {} pages",
        &at == &columns_.back() ? "now" : fmt::format("then, {} before", duration(before)),
        percent(pages.evictable + pages.protected_, all),
        at.hit_share < 0 ? "-" : fmt::format("{:.0f} %", at.hit_share * 100), brief(at.evicted), grouped(all));
    dim(fitted(words, width));
    explain(
        "Above: the pages of the pool, from evictable at the bottom to free on top. Below the middle line: tokens "
        "evicted since the column before; above it: the share of prompt tokens that was reused. " +
        words);
  }

  std::uint64_t at_ = ~std::uint64_t{0};
  std::size_t group_ = 0, most_ = 0;
  std::vector<SizesColumn> columns_;
};

}  // namespace

PanelInfo sizes_panel() {
  return {
      .title = "SIZES",
      .row = Row::middle,
      .share = 36,
      .key = 'Z',
      .help = "How did it get here: the pool's pages over time, hits and evictions below",
      .make = make_panel<SizesPanel>,
  };
}

}  // namespace canopy::inspector
