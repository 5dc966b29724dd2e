#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "panels.h"

namespace canopy::inspector {

std::vector<SizesPanel::Column> SizesPanel::columns(const std::vector<Sample>& samples, std::size_t group,
                                                    std::size_t most) {
  std::vector<Column> columns;
  const std::size_t count = std::min(most, samples.size());
  const Sample* before = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const Sample& sample = samples[(i + 1) * samples.size() / count - 1];
    Column column;
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

void draw_stack(ImDrawList* list, const Chart& chart, const std::vector<SizesPanel::Column>& columns) {
  const Palette& colours = palette();
  const float width = chart.width() / static_cast<float>(columns.size());
  // Neighbours of equal figures are one box: a quiet hour costs as much as a quiet moment.
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i + 1;
    while (end < columns.size() && columns[end].pages == columns[i].pages) ++end;
    const MirrorPool::Sums& pages = columns[i].pages;
    const std::uint64_t all = pages.free + pages.evictable + pages.protected_ + pages.held;
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
    part(pages.held, colours.held);
    part(pages.free, colours.free);
    i = end;
  }
}

void draw_bars(ImDrawList* list, const Chart& chart, const std::vector<SizesPanel::Column>& columns) {
  const Palette& colours = palette();
  const float width = chart.width() / static_cast<float>(columns.size());
  double most = 1;
  for (const SizesPanel::Column& column : columns) most = std::max(most, column.evicted);
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

}  // namespace

void SizesPanel::draw(Scene& scene, const Area& area) {
  begin_panel("SIZES", area);
  const Palette& colours = palette();
  ImGui::SameLine(0, em() * 1.2F);
  swatch(colours.evictable, "evictable");
  ImGui::SameLine(0, em() * 0.7F);
  swatch(colours.protected_, "protected");
  ImGui::SameLine(0, em() * 0.7F);
  swatch(colours.held, "held");
  ImGui::SameLine(0, em() * 0.7F);
  swatch(colours.free, "free");
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float foot = ImGui::GetTextLineHeight() * 1.1F;
  const auto most = static_cast<std::size_t>(std::max(1.F, room.x / std::max(2.F, em() / 6)));
  if (at_ != scene.mirror.commits() || group_ != scene.selection.group || most_ != most) {
    at_ = scene.mirror.commits(), group_ = scene.selection.group, most_ = most;
    columns_ = columns(scene.mirror.samples(), group_, most_);
  }
  if (columns_.size() < 2 || room.y < foot * 3) {
    nothing_here("The chart begins with the first operations.");
    end_panel();
    return;
  }
  const float split = from.y + (room.y - foot) * 0.62F;
  const Chart stack{from, {from.x + room.x, split}},
      bars{{from.x, split + em() * 0.3F}, {from.x + room.x, from.y + room.y - foot}};
  ImGui::InvisibleButton("over time", {room.x, room.y - foot});
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_stack(list, stack, columns_);
  draw_bars(list, bars, columns_);

  // One cursor for all charts, by commit.
  if (ImGui::IsItemHovered()) {
    const float share = std::clamp((ImGui::GetIO().MousePos.x - from.x) / room.x, 0.F, 0.999F);
    scene.selection.cursor = columns_[static_cast<std::size_t>(share * static_cast<float>(columns_.size()))].commit;
    if (scene.time.seekable && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) scene.time.seek(scene.selection.cursor);
  }
  const SizesPanel::Column* at = &columns_.back();
  if (scene.selection.cursor != 0) {
    auto found = std::lower_bound(columns_.begin(), columns_.end(), scene.selection.cursor,
                                  [](const Column& column, std::uint64_t commit) { return column.commit < commit; });
    if (found == columns_.end()) --found;
    at = &*found;
    const float x =
        from.x + room.x * (static_cast<float>(found - columns_.begin()) + 0.5F) / static_cast<float>(columns_.size());
    list->AddLine({x, from.y}, {x, bars.to.y}, colours.selected, std::max(1.F, em() / 12));
  }
  const MirrorPool::Sums& pages = at->pages;
  const std::uint64_t all = pages.free + pages.evictable + pages.protected_ + pages.held;
  const std::string words = fmt::format(
      "{}{} {}   hit {}   out {} tok   {} pages", at == &columns_.back() ? "now" : "then",
      at == &columns_.back()
          ? ""
          : fmt::format(", {} before",
                        duration(static_cast<double>(scene.mirror.us() - std::min(at->us, scene.mirror.us())) / 1e6)),
      percent(pages.evictable + pages.protected_, all) + " in the tree",
      at->hit_share < 0 ? "-" : fmt::format("{:.0f} %", at->hit_share * 100), brief(at->evicted), grouped(all));
  dim(fitted(words, room.x));
  explain(
      "Above: the pages of the pool, from evictable below to free on top. Below the middle line: tokens evicted "
      "since the column before; above it: the share of prompts' tokens that was reused. " +
      words);
  end_panel();
}

}  // namespace canopy::inspector
