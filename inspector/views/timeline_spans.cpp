#include "timeline_spans.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "draw.h"

namespace canopy::inspector {
namespace {

/// Requests in sight up to which each is drawn.
constexpr std::size_t kMostNear = 1500;

/// Returns the tenants of a window, most prompt tokens first.
std::vector<std::uint32_t> heaviest(const std::vector<TimeColumn>& columns) {
  std::map<std::uint32_t, std::uint64_t> prompts;
  for (const TimeColumn& column : columns)
    for (const TenantCounts& each : column.tenants)
      if (const std::uint64_t prompt = each.counts[Count::prompt]) prompts[each.row] += prompt;
  std::vector<std::uint32_t> rows;
  for (const auto& [row, prompt] : prompts) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return prompts[a] != prompts[b] ? prompts[a] > prompts[b] : a < b;
  });
  return rows;
}

/// Draws the phases of a request in a box of its whole life.
void draw_span(const TrackInput& in, const TimeAxis& axis, const RequestSpan& span, ImVec2 from, ImVec2 to) {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto x_of = [&](const HistoryMoment& moment) {
    return moment ? std::clamp(in.scale.x_of(axis.value_of(moment)), from.x, to.x) : to.x;
  };
  const History::Tenant& tenant = in.history.tenants()[span.tenant];
  const ImU32 colour = span.tenant == 0 ? colours.tombstone : colours.of(tenant.space);
  const float started = x_of(span.started), computed = std::max(started, x_of(span.computed));
  const float middle = (from.y + to.y) / 2;
  list->AddRectFilled({from.x, middle - 1}, {started, middle + 1}, with_alpha(colours.dim, 0.8F));
  list->AddRectFilled({started, from.y}, {computed, to.y}, colour);
  list->AddRectFilled({computed, from.y}, {to.x, to.y}, with_alpha(colour, 0.4F));
  if (span.retracted)
    hatch(list, {x_of(span.retracted), from.y}, {x_of(span.resumed), to.y}, colours.bad, false, em() * 0.3F);
  const float found = span.prompt ? static_cast<float>(span.matched) / static_cast<float>(span.prompt) : 0;
  const float line = std::max(1.5F, (to.y - from.y) * 0.22F);
  if (found > 0)
    list->AddRectFilled({from.x, to.y - line}, {from.x + (std::max(computed, from.x + 2) - from.x) * found, to.y},
                        colours.good);
  if (span.id == in.scene.selection.request)
    list->AddRect({from.x - 1, from.y - 1}, {to.x + 1, to.y + 1}, colours.selected, 0, 0, std::max(1.F, em() / 9));
  if (to.y - from.y > em() * 0.95F && computed - started > em() * 3)
    label(list, {started, from.y}, {computed, to.y}, std::to_string(span.id), ink_on(colour));
}

/// Says how many tenants have no room.
void draw_more(const TrackInput& in, const TrackArea& area, std::size_t tenants) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string more = fmt::format("{} more", tenants);
  const ImVec2 size = ImGui::CalcTextSize(more.c_str());
  const ImVec2 at{in.scale.right - size.x - em() * 0.3F, area.bottom - size.y};
  list->AddRectFilled({at.x - em() * 0.2F, at.y}, {in.scale.right, area.bottom}, with_alpha(palette().panel, 0.85F));
  list->AddText(at, palette().dim, more.c_str());
}

}  // namespace

bool TimelineSpans::middle_of(std::uint64_t request, ImVec2& at) const {
  for (const Drawn& each : drawn_)
    if (each.request == request) return at = {(each.x0 + each.x1) / 2, (each.y0 + each.y1) / 2}, true;
  return false;
}

void TimelineSpans::name_row(const TrackInput& in, float words, float top, float bottom, std::uint32_t tenant) {
  const History::Tenant& of = in.history.tenants()[tenant];
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (mouse.y >= top && mouse.y < bottom && mouse.x < in.scale.right && mouse.x >= words) under_ = &of;
  const float line = ImGui::GetTextLineHeight();
  if (bottom - top < line * 0.95F) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float box = em() * 0.6F, y = top + (std::min(bottom - top, line * 1.2F) - line) / 2;
  list->AddRectFilled({words, y + (line - box) / 2}, {words + box, y + (line + box) / 2},
                      tenant == 0 ? palette().tombstone : palette().of(of.space));
  const std::string name = fitted(of.name, in.scale.left - words - box - em());
  list->AddText({words + box + em() * 0.35F, y}, palette().dim, name.c_str());
}

/// Draws a row for each tenant: green where its prompts were found, orange where they were not, faint where it had few.
void TimelineSpans::draw_heat(const TrackInput& in, const TrackArea& area) {
  const Palette& colours = palette();
  std::vector<std::uint32_t> rows = rows_;
  const auto room = static_cast<std::size_t>(std::max(1.F, area.height() / (ImGui::GetTextLineHeight() * 1.1F)));
  const std::size_t left_out = rows.size() > room ? rows.size() - room : 0;
  if (rows.size() > room) rows.resize(room);
  const float step = std::min(area.height() / static_cast<float>(std::max<std::size_t>(rows.size(), 1)), em() * 2.2F);
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float top = area.top + step * static_cast<float>(i), bottom = top + step - 1;
    list->AddRectFilled({in.scale.left, top}, {in.scale.right, bottom}, with_alpha(colours.background, 0.7F));
    std::vector<double> densities;
    for (const TimeColumn& column : in.columns)
      if (const Counts* counts = column.of(rows[i])) densities.push_back(column.density((*counts)[Count::prompt]));
    const double most = usual_most(std::move(densities));
    const std::optional<NamespaceId>& only = in.scene.selection.space;
    const float chosen = !only || in.history.tenants()[rows[i]].space == *only ? 1 : 0.3F;
    for (const TimeColumn& column : in.columns) {
      const Counts* counts = column.of(rows[i]);
      if (!counts || (*counts)[Count::prompt] == 0) continue;
      const float share = static_cast<float>((*counts)[Count::hit]) / static_cast<float>((*counts)[Count::prompt]);
      const double load = most > 0 ? std::min(1.0, column.density((*counts)[Count::prompt]) / most) : 1;
      const ImU32 colour = share < 0.5F ? mixed(colours.bad, colours.spaces[4], share * 2)
                                        : mixed(colours.spaces[4], colours.good, share * 2 - 1);
      ColumnPieces(in.scale, column, InIdle::faint)
          .fill(top, bottom, with_alpha(colour, chosen * (0.25F + 0.7F * static_cast<float>(load))));
    }
    name_row(in, area.words, top, bottom, rows[i]);
  }
  if (left_out > 0) draw_more(in, area, left_out);
}

const RequestSpan* TimelineSpans::draw_near(const TrackInput& in, const TrackArea& area) {
  const TimeAxis axis = in.scene.time.axis().of(in.history);
  // Lanes: a request takes the first lane of its tenant that is free.
  struct Lanes {
    std::vector<float> free_from;
    std::vector<std::pair<std::size_t, const RequestSpan*>> spans;
  };
  std::map<std::uint32_t, Lanes> tenants;
  const double now = axis.value_of(in.scene.time.history.last());
  for (const RequestSpan& span : in.history.spans()) {
    const double from = axis.value_of(span.begun), to = span.ended ? axis.value_of(span.ended) : now;
    if (to < in.scale.from || from > in.scale.to) continue;
    if (in.scene.selection.space && in.history.tenants()[span.tenant].space != *in.scene.selection.space) continue;
    Lanes& lanes = tenants[span.tenant];
    const float x0 = in.scale.x_of(from), x1 = std::max(in.scale.x_of(to), x0 + 2);
    auto lane = std::find_if(lanes.free_from.begin(), lanes.free_from.end(), [&](float free) { return free <= x0; });
    if (lane == lanes.free_from.end()) lane = lanes.free_from.insert(lane, 0);
    *lane = x1 + 1;
    lanes.spans.emplace_back(static_cast<std::size_t>(lane - lanes.free_from.begin()), &span);
  }
  std::size_t all = 0;
  for (const auto& [tenant, lanes] : tenants) all += lanes.free_from.size();
  if (all == 0) return nullptr;
  const float gap = em() * 0.25F;
  const float room = area.height() - gap * static_cast<float>(tenants.size() - 1);
  const float step = std::clamp(room / static_cast<float>(all), 3.F, em() * 1.4F);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const RequestSpan* under = nullptr;
  float top = area.top, named = area.top;
  std::size_t left_out = tenants.size();
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const auto& [tenant, lanes] : tenants) {
    const float bottom = std::min(area.bottom, top + step * static_cast<float>(lanes.free_from.size()));
    if (bottom - top < 2) break;
    --left_out;
    list->AddRectFilled({in.scale.left, top}, {in.scale.right, bottom}, with_alpha(palette().background, 0.7F));
    // A name needs a line, and goes below the name before it.
    const float line = ImGui::GetTextLineHeight(), at = std::max(top, named);
    if (at < bottom + line / 2 && at + line <= area.bottom + line * 0.2F) {
      name_row(in, area.words, at, std::max(bottom, at + line), tenant);
      named = at + line;
    }
    for (const auto& [lane, span] : lanes.spans) {
      const float y0 = top + step * static_cast<float>(lane), y1 = y0 + step - 1;
      if (y1 > area.bottom) continue;
      const float x0 = std::max(in.scale.left, in.scale.x_of(axis.value_of(span->begun)));
      const double end = span->ended ? axis.value_of(span->ended) : now;
      const float x1 = std::min(in.scale.right, std::max(in.scale.x_of(end), x0 + 2));
      draw_span(in, axis, *span, {x0, y0}, {x1, y1});
      drawn_.push_back({span->id, x0, x1, y0, y1});
      if (mouse.x >= x0 && mouse.x <= x1 && mouse.y >= y0 && mouse.y <= y1) under = span;
    }
    top = bottom + gap;
  }
  if (left_out > 0) draw_more(in, area, left_out);
  return under;
}

float TimelineSpans::prepare(const TrackInput& in) {
  const TimeAxis axis = in.scene.time.axis().of(in.history);
  std::size_t in_sight = 0;
  for (const RequestSpan& span : in.history.spans()) {
    if (axis.value_of(span.begun) > in.scale.to) break;
    in_sight += !span.ended || axis.value_of(span.ended) >= in.scale.from;
  }
  const float width = in.scale.right - in.scale.left;
  near_ = in_sight > 0 && in_sight <= std::min(kMostNear, static_cast<std::size_t>(std::max(0.F, width)) / 6);
  rows_ = heaviest(in.columns);
  const auto count = static_cast<float>(std::max<std::size_t>(rows_.size(), 1));
  return near_ ? em() * 40 : count * em() * 1.5F;
}

const RequestSpan* TimelineSpans::draw(const TrackInput& in, const TrackArea& area) {
  drawn_.clear();
  under_ = nullptr;
  if (near_) return draw_near(in, area);
  draw_heat(in, area);
  return nullptr;
}

}  // namespace canopy::inspector
