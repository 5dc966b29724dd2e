#include "sizes_panel.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// Returns a round distance between marks, large enough that there are at most `most` marks.
double nice_step(double span, std::size_t most) {
  const double least = span / static_cast<double>(std::max<std::size_t>(most, 1));
  const double ten = std::pow(10.0, std::floor(std::log10(std::max(least, 1e-9))));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * ten >= least) return step * ten;
  return 10 * ten;
}

/// Returns such a distance for a clock: 30 s, 5 min and 2 h are better than 20, 50 and 100.
double nice_seconds(double span, std::size_t most) {
  constexpr std::array<double, 12> kNice = {10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600};
  const double least = span / static_cast<double>(std::max<std::size_t>(most, 1));
  if (least > 10)
    for (const double step : kNice)
      if (step >= least) return step;
  return least > 10 ? 3600 * nice_step(span / 3600, most) : nice_step(span, most);
}

std::string clock(double seconds, double step) {
  if (seconds == 0) return "0 s";
  if (step >= 3600) return fmt::format("{:g} h", seconds / 3600);
  if (step >= 60) return fmt::format("{:g} min", seconds / 60);
  return step >= 1 ? duration(seconds) : fmt::format("{:.3g} s", seconds);
}

}  // namespace

std::uint64_t sizes_top(const std::vector<OverviewColumn>& columns) {
  std::uint64_t top = 1;
  for (const OverviewColumn& column : columns)
    top = std::max({top, column.all(), column.limit == kUnlimited ? 0 : column.limit});
  return top;
}

float SizesPanel::height_of(std::uint64_t pages) const {
  return (stack_.to.y - stack_.from.y) * static_cast<float>(pages) / static_cast<float>(top_);
}

void SizesPanel::draw(Scene& scene) {
  draw_legend(scene.mirror.is_from_events());
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float foot = ImGui::GetTextLineHeight() * 1.1F, axis = ImGui::CalcTextSize("999.9 M ").x;
  const float width = room.x - axis;
  update(scene, static_cast<std::size_t>(std::max(1.F, width / std::max(2.F, em() / 6))));
  if (room.y < foot * 4 || width < em() * 4) return nothing_here("No room for the chart.");
  if (columns_.size() < 2) return nothing_here("The chart begins with the first operations.");
  const float bottom = from.y + room.y - 2 * foot, split = from.y + (bottom - from.y) * 0.62F;
  stack_ = {{from.x + axis, from.y + em() * 0.4F}, {from.x + room.x, split}};
  bars_ = {{from.x + axis, split + em() * 0.45F}, {from.x + room.x, bottom}};
  ImGui::SetCursorScreenPos(stack_.from);
  ImGui::InvisibleButton("over time", {width, bottom - stack_.from.y});
  const Overview overview(scene);
  draw_axis(scene, from.x);
  draw_stack();
  draw_bars(from.x);
  draw_playhead(scene, overview);
  const bool hovered = ImGui::IsItemHovered();
  const OverviewColumn& at = draw_cursor(scene, overview);
  draw_times(overview, bottom);
  ImGui::SetCursorScreenPos({from.x, from.y + room.y - foot});
  draw_foot(scene, at, room.x, hovered);
}

void SizesPanel::draw_legend(bool from_events) {
  const Palette& colours = palette();
  ImGui::SameLine(0, em() * 1.2F);
  if (from_events) return swatch(colours.evictable, "cached; the number of pages is not known");
  swatch(colours.evictable, "evictable");
  ImGui::SameLine(0, em() * 0.7F);
  swatch(colours.protected_, "protected");
  ImGui::SameLine(0, em() * 0.7F);
  swatch(colours.owned, "owned");
  ImGui::SameLine(0, em() * 0.7F);
  swatch(colours.free, "free");
}

void SizesPanel::update(const Scene& scene, std::size_t most) {
  const std::uint64_t known = scene.time.whole.empty() ? scene.mirror.commits() : scene.time.whole.back().commit;
  if (known_ == known && group_ == scene.selection.group && most_ == most) return;
  known_ = known, group_ = scene.selection.group, most_ = most;
  columns_ = Overview(scene).columns(group_, most_);
  top_ = sizes_top(columns_);
}

/// Draws the axis: tokens from 0 up to the highest limit so far.
void SizesPanel::draw_axis(const Scene& scene, float left) const {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double tokens = static_cast<double>(top_) * scene.mirror.page_size();
  const float letters = ImGui::GetTextLineHeight();
  const auto marks = static_cast<std::size_t>(std::max(2.F, (stack_.to.y - stack_.from.y) / letters / 1.6F));
  const double step = nice_step(tokens, marks);
  for (double value = 0; value <= tokens * 1.0001; value += step) {
    const float y = stack_.to.y - (stack_.to.y - stack_.from.y) * static_cast<float>(value / tokens);
    list->AddLine({stack_.from.x, y}, {stack_.to.x, y}, palette().line);
    const std::string words = brief(value);
    const float wide = ImGui::CalcTextSize(words.c_str()).x;
    list->AddText({std::max(left, stack_.from.x - wide - em() * 0.4F), y - letters / 2}, palette().dim, words.c_str());
  }
}

void SizesPanel::draw_stack() const {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float width = (stack_.to.x - stack_.from.x) / static_cast<float>(columns_.size());
  // Neighbours with equal figures are drawn as one box: an hour without a change costs one box.
  for (std::size_t i = 0; i < columns_.size();) {
    std::size_t end = i + 1;
    while (end < columns_.size() && columns_[end].pages == columns_[i].pages &&
           columns_[end].limit == columns_[i].limit)
      ++end;
    const MirrorPool::Sums& pages = columns_[i].pages;
    const float x0 = stack_.from.x + width * static_cast<float>(i),
                x1 = stack_.from.x + width * static_cast<float>(end);
    float y = stack_.to.y;
    for (const auto& [of, colour] : {std::pair(pages.evictable, colours.evictable),
                                     {pages.protected_, colours.protected_},
                                     {pages.owned, colours.owned},
                                     {pages.free, colours.free}}) {
      const float top = y - height_of(of);
      if (of != 0) list->AddRectFilled({x0, top}, {x1, y}, colour);
      y = top;
    }
    if (columns_[i].limit != kUnlimited && columns_[i].limit != 0) {
      const float limit = stack_.to.y - height_of(columns_[i].limit);
      list->AddRectFilled({x0, limit - 1}, {x1, limit + 1}, colours.text);
    }
    i = end;
  }
}

/// Draws the share of hits upwards and evictions downwards.
void SizesPanel::draw_bars(float left) const {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float width = (bars_.to.x - bars_.from.x) / static_cast<float>(columns_.size());
  const double most = usual_most(columns_);
  const float middle = (bars_.from.y + bars_.to.y) / 2;
  list->AddLine({bars_.from.x, middle}, {bars_.to.x, middle}, colours.line);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const float x0 = bars_.from.x + width * static_cast<float>(i), x1 = std::max(x0 + 1, x0 + width - 0.5F);
    if (columns_[i].hit_share > 0)
      list->AddRectFilled({x0, middle - static_cast<float>(columns_[i].hit_share) * (middle - bars_.from.y)},
                          {x1, middle}, colours.good);
    if (columns_[i].evicted <= 0) continue;
    const auto share = static_cast<float>(std::min(1.0, columns_[i].evicted / most));
    const float y = middle + 1 + share * (bars_.to.y - middle - 1);
    list->AddRectFilled({x0, middle + 1}, {x1, y}, colours.bad);
    if (columns_[i].evicted > most) list->AddRectFilled({x0, y - em() * 0.2F}, {x1, y}, colours.text);
  }
  const float letters = ImGui::GetTextLineHeight();
  if (middle - bars_.from.y < letters * 0.8F) return;
  const auto say = [&](const std::string& words, float y, ImU32 colour) {
    const float wide = ImGui::CalcTextSize(words.c_str()).x;
    list->AddText({std::max(left, bars_.from.x - wide - em() * 0.4F), y}, colour, words.c_str());
  };
  say("100 %", bars_.from.y - letters * 0.1F, colours.good);
  if (std::any_of(columns_.begin(), columns_.end(), [](const auto& column) { return column.evicted > 0; }))
    say(brief(most), bars_.to.y - letters * 0.9F, colours.bad);
}

void SizesPanel::draw_playhead(const Scene& scene, const Overview& overview) const {
  if (!scene.time.seekable) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float x = stack_.from.x + (stack_.to.x - stack_.from.x) * static_cast<float>(overview.share_of(scene.time.at));
  // Draws what comes later fainter, but keeps it in sight.
  list->AddRectFilled({x, stack_.from.y}, bars_.to, with_alpha(palette().panel, 0.55F));
  list->AddLine({x, stack_.from.y}, {x, bars_.to.y}, palette().accent, std::max(1.5F, em() / 8));
}

/// Draws one cursor for both charts at the mouse. Returns the column there; without the mouse, that of the shown
/// moment.
const OverviewColumn& SizesPanel::draw_cursor(Scene& scene, const Overview& overview) const {
  const auto column_at = [&](double share) -> const OverviewColumn& {
    const auto at = static_cast<std::size_t>(std::clamp(share, 0.0, 0.9999) * static_cast<double>(columns_.size()));
    return columns_[at];
  };
  if (!ImGui::IsItemHovered())
    return scene.time.seekable ? column_at(overview.share_of(scene.time.at)) : columns_.back();
  const double share = (ImGui::GetIO().MousePos.x - stack_.from.x) / (stack_.to.x - stack_.from.x);
  if (scene.time.seekable && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) scene.time.seek(overview.commit_at(share));
  const float x = ImGui::GetIO().MousePos.x;
  ImGui::GetWindowDrawList()->AddLine({x, stack_.from.y}, {x, bars_.to.y}, palette().selected,
                                      std::max(1.F, em() / 12));
  return column_at(share);
}

/// Draws the engine's clock below the charts, or commits if the clock does not advance.
void SizesPanel::draw_times(const Overview& overview, float y) const {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float width = stack_.to.x - stack_.from.x;
  const double first = overview.value_at(0), last = overview.value_at(1), unit = overview.by_clock() ? 1e6 : 1;
  const auto marks = static_cast<std::size_t>(std::max(1.F, width / em() / 6));
  const double span = (last - first) / unit;
  const double step = overview.by_clock() ? nice_seconds(span, marks) : nice_step(span, marks);
  float free_from = stack_.from.x - em() * 2;
  const double from = std::ceil(first / unit / step) * step;
  for (std::size_t mark = 0; mark <= 2 * marks; ++mark) {  // far from 0, adding a small step may change nothing
    const double at = from + static_cast<double>(mark) * step;
    if (!(at <= last / unit + span * 1e-6)) break;
    const float x = stack_.from.x + width * static_cast<float>(overview.share_of_value(at * unit));
    list->AddLine({x, y}, {x, y + em() * 0.2F}, palette().dim);
    const std::string words = overview.by_clock() ? clock(at, step) : "commit " + brief(at);
    const float wide = ImGui::CalcTextSize(words.c_str()).x;
    const float left = std::min(x - wide / 2, stack_.to.x - wide);
    if (left < free_from) continue;
    list->AddText({left, y + em() * 0.1F}, palette().dim, words.c_str());
    free_from = left + wide + em() * 0.6F;
  }
}

void SizesPanel::draw_foot(const Scene& scene, const OverviewColumn& at, float width, bool hovered) const {
  const MirrorPool::Sums& pages = at.pages;
  const double now = static_cast<double>(scene.mirror.us()), then = static_cast<double>(at.us);
  const std::uint64_t page = scene.mirror.page_size();
  if (scene.mirror.is_from_events())
    return dim(fmt::format("{} tok cached   removed {} tok", brief(static_cast<double>(pages.evictable * page)),
                           brief(at.evicted)));
  const std::string words =
      fmt::format("{}: {} of {} tok in the tree   hit {}   out {} tok   limit {}",
                  !hovered     ? scene.time.seekable ? "here" : "now"
                  : then < now ? duration((now - then) / 1e6) + " before"
                               : duration((then - now) / 1e6) + " later",
                  percent(pages.evictable + pages.protected_, at.all()), brief(static_cast<double>(at.all() * page)),
                  at.hit_share < 0 ? "-" : fmt::format("{:.0f} %", at.hit_share * 100), brief(at.evicted),
                  at.limit == kUnlimited ? "none" : brief(static_cast<double>(at.limit * page)));
  dim(fitted(words, width));
  explain(
      "Above: the pool's tokens, from evictable at the bottom to free at the top, on one scale up to the highest limit "
      "so far; the bright line is the limit. Below: upwards, the share of prompt tokens that was reused; downwards, "
      "the tokens evicted since the column before. A column far beyond the usual ones is cut off and has a bright end. "
      "Time is the engine's own clock. " +
      words);
}

PanelInfo sizes_panel() {
  return {
      .title = "SIZES",
      .row = Row::middle,
      .share = 36,
      .key = 'Z',
      .help = "How did the cache get here? The pool's pages over time; below them, hits and evictions",
      .make = make_panel<SizesPanel>,
  };
}

}  // namespace canopy::inspector
