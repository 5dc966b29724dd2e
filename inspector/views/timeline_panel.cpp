#include "timeline_panel.h"

#include <account/chrome_trace.h>
#include <account/listings.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <cmath>

#include "draw.h"
#include "export_button.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// Most commits of a window that is read again commit by commit.
constexpr std::uint64_t kMostDetail = 4096;
/// Parts of the height of the tracks.
constexpr float kRate = 2.2F, kPool = 2.2F, kEvicted = 1.4F, kTiers = 1.3F, kTenants = 3.2F;

bool has_several_tenants(const History& history) {
  return std::count_if(history.tenants().begin(), history.tenants().end(),
                       [](const History::Tenant& tenant) { return tenant.name != History::kOthers; }) > 1;
}

}  // namespace

void TimelinePanel::draw(Scene& scene) {
  const History& history = scene.time.history;
  if (history.commits() < 2 || history.empty()) return nothing_here("The timeline begins with the first operations.");
  const TimeAxis axis = scene.time.axis();
  if (!(axis.last() > axis.first())) return nothing_here("The timeline begins when time has passed.");
  draw_legend(scene);
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float words = std::min(em() * 9, room.x * 0.2F);
  if (room.y < em() * 4 || room.x < em() * 16) return nothing_here("No room for the timeline.");
  Timeline& time = scene.time;
  if (!(time.to > time.from)) time.from = time.to = 0;
  const bool whole = !(time.to > time.from);
  scale_ = {whole ? axis.first() : time.from, whole ? axis.last() : time.to, from.x + words, from.x + room.x};
  ImGui::InvisibleButton("time", room);
  draw_tracks(scene, nearest(scene, axis), from, {from.x + room.x, from.y + room.y});
}

/// Returns the past in which single commits can be seen, if the window is short and it has been read again.
const History& TimelinePanel::nearest(Scene& scene, const TimeAxis& axis) const {
  Timeline& time = scene.time;
  const History& history = time.history;
  const CommitRange seen{std::max<std::uint64_t>(axis.commit_at(scale_.from), history.all().first),
                         axis.commit_at(scale_.to)};
  if (!time.seekable || time.live || history.stride() == 1 || seen.empty() || seen.commits() > kMostDetail)
    return history;
  const bool has = time.detail && time.detail->all().first <= seen.first && time.detail->all().last >= seen.last;
  if (!has) {
    const std::uint64_t margin = std::min(kMostDetail / 2, seen.commits());
    // Whole steps, so that both have the same positions on every axis.
    time.detail_wanted = history.snapped(
        {seen.first > margin ? seen.first - margin : 1, std::min(seen.last + margin, history.commits())});
  }
  return has ? *time.detail : history;
}

void TimelinePanel::update(const Scene& scene, const History& history, const TimeAxis& axis) {
  const auto most = static_cast<std::size_t>(std::max(1.F, (scale_.right - scale_.left) / std::max(2.F, em() / 6)));
  std::optional<std::uint32_t> tenant;
  if (scene.selection.space) tenant = history.row_of(*scene.selection.space);
  const Made made{&history, history.commits(), scene.time.axis_by, scale_.from, scale_.to, most, tenant};
  if (made == made_) return;
  made_ = made;
  columns_ = columns_of(history, axis, scale_.from, scale_.to, most, tenant);
}

void TimelinePanel::draw_legend(Scene& scene) {
  const Palette& colours = palette();
  Timeline& time = scene.time;
  const float end = ImGui::GetWindowWidth() - ImGui::GetStyle().WindowPadding.x, below = ImGui::GetCursorPosY();
  ImGui::SameLine(0, em() * 1.2F);
  if (ImGui::GetWindowWidth() > em() * 60 && time.history.has_requests()) {
    swatch(colours.good, "found");
    ImGui::SameLine(0, em() * 0.7F);
    swatch(colours.bad, "evicted before");
    ImGui::SameLine(0, em() * 0.7F);
    swatch(colours.free, "never here");
    ImGui::SameLine(0, em() * 1.2F);
  }
  const bool ranged = !time.range.empty();
  export_button(scene, "CSV", "canopy-timeline.csv",
                ranged ? "the range, step by step," : "the whole time, step by step,",
                [&] { return listing::csv_of(timeline_listing(time.history), buckets_in(time.history, time.range)); });
  export_button(scene, "trace", "canopy-trace.json",
                ranged ? "the range as a trace for ui.perfetto.dev" : "the whole time as a trace for ui.perfetto.dev",
                [&] { return chrome_trace(time.history, time.range, scene.doubts()); });
  if (scene.selection.exports.possible) ImGui::SameLine(0, em() * 1.2F);
  if (scene.selection.space) {
    const std::string name = "only " + space_name(scene.mirror, *scene.selection.space) + "  x";
    if (choice(fitted(name, em() * 14).c_str(), true)) scene.selection.space.reset();
    explain("Lists, charts and figures show only this namespace. Click to show all (Esc).");
    ImGui::SameLine(0, em() * 0.6F);
  }
  const TimeAxis axis = time.axis();
  const std::string by = fmt::format("by {}", kAxisNames[static_cast<std::size_t>(time.axis_by)]);
  if (choice(by.c_str(), time.axis_by != AxisBy::clock)) next_axis(time);
  explain("What the time axis measures: the engine's clock, requests, or prompt tokens that arrived (x).");
  ImGui::SameLine(0, em() * 0.6F);
  std::string words;
  if (time.range.empty()) {
    words = "drag: a range   wheel: zoom   shift drag: pan";
  } else {
    const double length = axis.value_of(time.range.last) - axis.value_of(time.range.first - 1);
    const std::string commits = plural(time.range.commits(), "commit"), wide = axis.length_words(length);
    words = wide == commits ? "range " + commits : fmt::format("range {}, {}", wide, commits);
  }
  const bool zoomed = time.to > time.from;
  const float buttons = (time.range.empty() ? 0.F : em() * 6.2F) + (zoomed ? em() * 7.F : 0.F);
  const float wide = ImGui::CalcTextSize(words.c_str()).x;
  if (const float x = end - wide - buttons; x > ImGui::GetCursorPosX()) {
    ImGui::SameLine(x);
    text(words, time.range.empty() ? colours.dim : colours.accent);
  } else {
    ImGui::SameLine(std::max(ImGui::GetCursorPosX(), end - buttons));
  }
  if (!time.range.empty()) {
    ImGui::SameLine(0, em() * 0.6F);
    if (button("no range")) time.range = {};
    explain("Clears the range (Esc): figures are of the whole time.");
  }
  if (zoomed) {
    ImGui::SameLine(0, em() * 0.6F);
    if (button("whole time")) time.from = time.to = 0;
    explain("Shows all of the time.");
  }
  ImGui::SetCursorPos({ImGui::GetStyle().WindowPadding.x, below + em() * 0.2F});
}

void TimelinePanel::draw_tracks(Scene& scene, const History& history, ImVec2 from, ImVec2 to) {
  const bool hovered = ImGui::IsItemHovered();
  const History& past = scene.time.history;
  const TimeAxis whole = scene.time.axis(), axis = whole.of(history);
  update(scene, history, axis);
  const float mouse = ImGui::GetIO().MousePos.x;
  TrackInput in{scene, history, scale_, columns_};
  if (hovered && mouse >= scale_.left)
    for (const TimeColumn& column : columns_)
      if (scale_.x_of(column.to) >= mouse) {
        in.at = &column;
        break;
      }
  const float foot = ImGui::GetTextLineHeight() * 1.15F, gap = std::max(2.F, em() * 0.22F);
  float y = from.y;
  draw_axis(whole, y, y + foot);
  y += foot;
  std::string mark;
  if (!past.marks().empty() || !scene.time.notes.all().empty()) {
    mark = draw_marks(in, {from.x, y, y + foot});
    y += foot + gap;
  }
  const float tracks = y;
  const bool requests = past.has_requests(), tiers = past.has_tiers() && to.y - y > em() * 9;
  const float all = kPool + kEvicted + (requests ? kRate + kTenants : 0) + (tiers ? kTiers : 0);
  // Few tenants leave their room to the other tracks.
  const float rows = requests ? std::min(spans_.prepare(in), (to.y - y) * kTenants / all) : 0;
  const float room = to.y - y - rows, parts = all - (requests ? kTenants : 0);
  const auto next = [&](float part) {
    const float height = std::floor(room * part / parts) - gap;
    const TrackArea area{from.x, y, y + height};
    y += height + gap;
    return area;
  };
  if (requests) draw_rate(in, next(kRate));
  pool_ = next(kPool);
  draw_pool(in, pool_, by_tenant_.value_or(has_several_tenants(past)));
  draw_evictions(in, next(kEvicted));
  if (tiers) draw_traffic(in, next(kTiers));
  const RequestSpan* under = nullptr;
  if (requests) under = spans_.draw(in, {from.x, y, to.y});
  draw_doubtful_time(scene.time, whole, scale_, tracks, to.y);
  draw_range(scene, whole, from.y + foot, to.y);
  if (!hovered && !ImGui::IsItemActive()) pressed_at_.reset(), dragging_ = panning_ = false;
  handle_mouse(scene, whole, under);
  if (!hovered || dragging_ || panning_) return;
  if (!mark.empty()) explain(mark);
  else if (under)
    explain(fmt::format("Request {}: {} of {} prompt tokens found{}{}. Click to select it.", under->id,
                        grouped(under->matched), grouped(under->prompt), under->missed ? "; missed: " : "",
                        under->missed ? reason_name(under->reason) : ""));
  else if (in.at) explain_column(in, axis);
}

void TimelinePanel::explain_column(const TrackInput& in, const TimeAxis& axis) const {
  const TimeColumn& at = *in.at;
  const double under = scale_.value_at(ImGui::GetIO().MousePos.x);
  std::string words;
  for (const LostStretch& lost : in.scene.time.history.lost())
    if (under >= axis.value_of(lost.from) && under < axis.value_of(lost.until))
      words = "Events were lost here: nothing is known of this time.\n";
  const HistoryMoment damaged = in.scene.time.history.damaged();
  if (damaged && at.commits.last >= damaged.commit)
    words += fmt::format("Damaged from commit {} on: what follows may be wrong.\n", grouped(damaged.commit));
  if (at.has_idle() && under > at.idle_from && under < at.idle_to) words += "No operation ended here.\n";
  words += axis.position_words(under) + ", ";
  words += at.commits.commits() == 1
               ? fmt::format("commit {}", grouped(at.commits.first))
               : fmt::format("commits {} to {}", grouped(at.commits.first), grouped(at.commits.last));
  if (in.history.has_requests())
    words += fmt::format("\n{}: {} of {} prompt tokens found", plural(at.counts[Count::requests], "request"),
                         grouped(at.counts[Count::hit]), grouped(at.counts[Count::prompt]));
  for (std::size_t reason = 0; reason < kReasons; ++reason)
    if (at.missed[reason] > 0)
      words += fmt::format("\n  missed, {}: {}", reason_name(reason), grouped(at.missed[reason]));
  words += fmt::format("\n{} tokens inserted, {} evicted", grouped(at.counts[Count::inserted]),
                       grouped(at.counts[Count::evicted]));
  if (at.counts[Count::evicted] > 0 && in.history.has_requests())
    words += fmt::format(", {} of them never hit", grouped(at.counts[Count::wasted]));
  if (at.counts[Count::regretted] > 0)
    words += fmt::format("\n{} tokens came back after an eviction", grouped(at.counts[Count::regretted]));
  ImGui::BeginTooltip();
  text(words);
  ImGui::EndTooltip();
}

void TimelinePanel::zoom(Scene& scene, const TimeAxis& axis, double at, double factor) const {
  Timeline& time = scene.time;
  const double all = axis.last() - axis.first();
  const double least = std::max(axis.least(), all / 1e7);
  const double span = std::clamp((scale_.to - scale_.from) * factor, std::min(least, all), all);
  const double share = (at - scale_.from) / (scale_.to - scale_.from);
  time.from = std::clamp(at - share * span, axis.first(), axis.last() - span);
  time.to = time.from + span;
  if (span >= all * 0.9999) time.from = time.to = 0;
}

void TimelinePanel::handle_mouse(Scene& scene, const TimeAxis& axis, const RequestSpan* under) {
  const ImGuiIO& io = ImGui::GetIO();
  Timeline& time = scene.time;
  const bool hovered = ImGui::IsItemHovered(), active = ImGui::IsItemActive();
  const double at = std::clamp(scale_.value_at(io.MousePos.x), scale_.from, scale_.to);
  if (hovered && io.MouseWheel != 0) zoom(scene, axis, at, std::pow(1.3, -static_cast<double>(io.MouseWheel)));
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && io.MousePos.x >= scale_.left) {
    pressed_at_.reset();
    const bool inside = !time.range.empty() && time.range.has(axis.commit_at(at));
    if (!inside) return zoom(scene, axis, at, 0.25);
    const double begin = axis.value_of(time.range.first - 1), end = axis.value_of(time.range.last);
    const double margin = (end - begin) * 0.02;
    time.from = std::max(axis.first(), begin - margin), time.to = std::min(axis.last(), end + margin);
    return;
  }
  if (ImGui::IsItemActivated()) {
    // A click on the name of a track or tenant is no click into time.
    if (io.MousePos.x < scale_.left) {
      if (const History::Tenant* tenant = spans_.tenant_under())
        scene.selection.space = scene.selection.space == tenant->space ? std::nullopt : std::optional(tenant->space);
      else if (io.MousePos.y >= pool_.top && io.MousePos.y <= pool_.bottom)
        by_tenant_ = !by_tenant_.value_or(has_several_tenants(time.history));
      return;
    }
    pressed_at_ = at, dragging_ = false, panning_ = io.KeyShift;
  }
  if (!pressed_at_) return;
  if (active && panning_) {
    const double moved = scale_.value_at(io.MousePos.x - io.MouseDelta.x) - scale_.value_at(io.MousePos.x);
    if (time.to > time.from) {
      const double span = time.to - time.from;
      time.from = std::clamp(time.from + moved, axis.first(), axis.last() - span), time.to = time.from + span;
    }
    return;
  }
  if (active && (dragging_ || std::abs(scale_.x_of(*pressed_at_) - io.MousePos.x) > em() * 0.3F)) {
    dragging_ = true;
    const std::uint64_t a = axis.commit_at(std::min(at, *pressed_at_)), b = axis.commit_at(std::max(at, *pressed_at_));
    time.range = {std::min(a + 1, std::max(b, std::uint64_t{1})), std::max(b, std::uint64_t{1})};
    return;
  }
  if (active) return;
  if (!dragging_ && !panning_) {
    if (under != nullptr) {
      scene.selection.request_wanted = under->id;
      if (time.seekable) time.seek(std::max(time.at, under->begun.commit));
    } else if (const std::uint64_t commit = axis.commit_at(*pressed_at_); time.has(commit)) {
      time.seek(commit);
    }
  }
  pressed_at_.reset(), dragging_ = panning_ = false;
}

void TimelinePanel::draw_axis(const TimeAxis& axis, float top, float bottom) const {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto most = static_cast<std::size_t>(std::max(1.F, (scale_.right - scale_.left) / em() / 6));
  float free_from = scale_.left - em() * 2;
  const char* unit = axis.unit_word();
  list->AddText({scale_.left - ImGui::CalcTextSize(unit).x - em() * 0.6F, top}, palette().dim, unit);
  for (const TimeAxis::Mark& mark : axis.marks(scale_.from, scale_.to, most)) {
    const float x = scale_.x_of(mark.value);
    list->AddLine({x, bottom - em() * 0.25F}, {x, bottom}, palette().dim);
    const float wide = ImGui::CalcTextSize(mark.words.c_str()).x;
    const float left = std::clamp(x - wide / 2, scale_.left, scale_.right - wide);
    if (left < free_from) continue;
    list->AddText({left, top - em() * 0.1F}, palette().dim, mark.words.c_str());
    free_from = left + wide + em() * 0.8F;
  }
}

/// Draws the selected range, the playhead and the mouse's cursor over all tracks.
void TimelinePanel::draw_range(const Scene& scene, const TimeAxis& axis, float top, float bottom) const {
  const Palette& colours = palette();
  const Timeline& time = scene.time;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect({scale_.left, top - em() * 2}, {scale_.right, bottom}, true);
  if (!time.range.empty()) {
    const float x0 = scale_.x_of(axis.value_of(time.range.first - 1));
    const float x1 = std::max(x0 + 1, scale_.x_of(axis.value_of(time.range.last)));
    list->AddRectFilled({scale_.left, top}, {std::max(scale_.left, x0), bottom}, with_alpha(colours.panel, 0.6F));
    list->AddRectFilled({std::min(scale_.right, x1), top}, {scale_.right, bottom}, with_alpha(colours.panel, 0.6F));
    for (const float x : {x0, x1})
      list->AddLine({x, top - em() * 0.3F}, {x, bottom}, colours.accent, std::max(1.F, em() / 10));
    list->AddRectFilled({x0, top - em() * 0.22F}, {x1, top}, colours.accent);
  }
  const std::pair<std::uint64_t, const char*> moments[] = {{time.a, "A"}, {time.b, "B"}};
  for (const auto& [commit, name] : moments)
    if (commit != 0) {
      const float x = scale_.x_of(axis.value_of(commit));
      list->AddLine({x, top}, {x, bottom}, colours.text);
    }
  if (time.seekable && !time.follows()) {
    const float x = scale_.x_of(axis.value_of(time.at));
    list->AddLine({x, top - em() * 0.5F}, {x, bottom}, colours.selected, std::max(1.5F, em() / 8));
    list->AddTriangleFilled({x - em() * 0.35F, top - em() * 0.5F}, {x + em() * 0.35F, top - em() * 0.5F}, {x, top},
                            colours.selected);
  }
  const float mouse = ImGui::GetIO().MousePos.x;
  if (ImGui::IsItemHovered() && mouse >= scale_.left)
    list->AddLine({mouse, top}, {mouse, bottom}, with_alpha(colours.text, 0.5F));
  list->PopClipRect();
}

void next_axis(Timeline& time) {
  const TimeAxis before = time.axis();
  const CommitRange window{before.commit_at(time.from), before.commit_at(time.to)};
  time.axis_by = static_cast<AxisBy>((static_cast<std::size_t>(time.axis_by) + 1) % kAxisNames.size());
  if (!(time.to > time.from)) return;
  const TimeAxis axis = time.axis();
  time.from = axis.value_of(window.first), time.to = axis.value_of(window.last);
}

PanelInfo timeline_panel() {
  return {
      .title = "TIMELINE",
      .row = Row::middle,
      .key = 'M',
      .help = "When did it get worse, for which tenant, and what happened then? A drag selects a range",
      .make = make_panel<TimelinePanel>,
      .figures = FiguresOf::past,
  };
}

}  // namespace canopy::inspector
