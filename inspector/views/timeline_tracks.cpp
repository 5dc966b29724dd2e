#include "timeline_tracks.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "draw.h"

namespace canopy::inspector {
namespace {

/// Draws parts upon each other within a column, from the bottom up, cut to the scale's edges.
class Stack {
 public:
  Stack(const ColumnPieces& pieces, const TrackArea& area) : pieces_(pieces), y_(area.bottom), top_(area.top) {}
  void add(float height, ImU32 colour) {
    if (!(height > 0)) return;
    const float y = std::max(top_, y_ - height);
    if (y < y_) pieces_.fill(y, y_, colour);
    y_ = y;
  }
  /// Marks a column that was cut off.
  void cut() const { pieces_.fill(top_, top_ + std::max(1.F, em() * 0.15F), palette().text); }

 private:
  ColumnPieces pieces_;
  float y_ = 0, top_ = 0;
};

/// Missed tokens that a cache could have had, and those that it never had.
struct Missed {
  std::uint64_t lost = 0, other = 0;
};
Missed missed_of(const std::array<std::uint64_t, kReasons>& missed) {
  Missed sum;
  for (std::size_t reason = 0; reason < kReasons; ++reason) {
    const auto miss = static_cast<Miss>(reason);
    const bool lost =
        reason == kFlushedReason || miss == Miss::evicted || miss == Miss::tombstone || miss == Miss::never_kept;
    (lost ? sum.lost : sum.other) += missed[reason];
  }
  return sum;
}

constexpr std::string_view kUnit = " tok";
std::string tokens(std::uint64_t count) { return brief(static_cast<double>(count)).append(kUnit); }

/// Returns the words, without their unit if there is no room for it.
std::string with_room(std::string_view words, float room) {
  const bool narrow = ImGui::CalcTextSize(words.data(), words.data() + words.size()).x > room;
  if (narrow && words.ends_with(kUnit)) words.remove_suffix(kUnit.size());
  if (narrow) words = words.substr(0, words.find(", "));
  return fitted(std::string(words), room);
}

}  // namespace

ColumnPieces::ColumnPieces(const TimeScale& scale, const TimeColumn& column, InIdle in_idle)
    : in_idle_(in_idle), has_idle_(column.has_idle() && in_idle != InIdle::goes_on) {
  x0_ = std::max(scale.left, scale.x_of(column.from));
  x1_ = std::min(scale.right, std::max(scale.x_of(column.to), x0_ + 1));
  idle0_ = std::clamp(scale.x_of(column.idle_from), x0_, std::max(x0_, x1_));
  idle1_ = std::clamp(scale.x_of(column.idle_to), x0_, std::max(x0_, x1_));
  // Wide columns stay apart; narrow ones form one surface.
  if (!column.has_idle() && x1_ - x0_ > em() * 0.4F) x1_ -= 1;
}

void ColumnPieces::fill(float top, float bottom, ImU32 colour) const {
  constexpr float kFaint = 0.16F;
  const auto box = [&](float from, float to, ImU32 of) {
    if (to > from) ImGui::GetWindowDrawList()->AddRectFilled({from, top}, {to, bottom}, of);
  };
  if (!has_idle_) return box(x0_, x1_, colour);
  box(x0_, idle0_, colour);
  if (in_idle_ == InIdle::faint) box(idle0_, idle1_, with_alpha(colour, kFaint));
  box(idle1_, x1_, colour);
}

void draw_track(const TrackInput& in, const TrackArea& area, const char* name, const std::string& words, ImU32 colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({in.scale.left, area.top}, {in.scale.right, area.bottom}, with_alpha(palette().background, 0.7F));
  const float room = in.scale.left - area.words - em() * 0.6F, line = ImGui::GetTextLineHeight();
  const bool both = area.height() >= 1.9F * line;
  const float y = area.top + (both ? (area.height() - 2 * line) / 2 : (area.height() - line) / 2);
  const std::string first = fitted(name, room);
  list->AddText({area.words, y}, palette().dim, first.c_str());
  if (both) return list->AddText({area.words, y + line}, colour, with_room(words, room).c_str());
  const float wide = ImGui::CalcTextSize(first.c_str()).x + em() * 0.5F;
  list->AddText({area.words + wide, y}, colour, with_room(words, room - wide).c_str());
}

void draw_rate(const TrackInput& in, const TrackArea& area) {
  const Palette& colours = palette();
  const Counts& of = in.at ? in.at->counts : in.scene.figures.range().counts;
  draw_track(in, area, "hit rate", percent(of[Count::hit], of[Count::prompt]), colours.text);
  for (const TimeColumn& column : in.columns) {
    const std::uint64_t prompt = column.counts[Count::prompt];
    if (prompt == 0) continue;
    const auto share = [&](std::uint64_t part) {
      return area.height() * static_cast<float>(static_cast<double>(part) / static_cast<double>(prompt));
    };
    const Missed missed = missed_of(column.missed);
    Stack stack({in.scale, column, InIdle::faint}, area);
    stack.add(share(column.counts[Count::hit]), with_alpha(colours.good, 0.9F));
    stack.add(share(missed.lost), with_alpha(colours.bad, 0.75F));
    stack.add(share(missed.other), with_alpha(colours.free, 0.6F));
  }
  const float middle = (area.top + area.bottom) / 2;
  ImGui::GetWindowDrawList()->AddLine({in.scale.left, middle}, {in.scale.right, middle},
                                      with_alpha(colours.text, 0.18F));
}

std::uint64_t pool_top(const History& history, std::size_t group) {
  std::uint64_t top = 1;
  for (const Bucket& bucket : history.buckets()) {
    if (group >= bucket.pools.size()) continue;
    const auto& [pages, limit] = bucket.pools[group];
    top =
        std::max({top, pages.free + pages.evictable + pages.protected_ + pages.owned, limit == kUnlimited ? 0 : limit});
  }
  return top;
}

namespace {

void draw_states(const TrackInput& in, const TrackArea& area, std::uint64_t top) {
  const Palette& colours = palette();
  const auto height = [&](std::uint64_t pages) {
    return area.height() * static_cast<float>(static_cast<double>(pages) / static_cast<double>(top));
  };
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const TimeColumn& column : in.columns) {
    const Bucket& bucket = in.history.buckets()[column.bucket];
    if (in.scene.selection.group >= bucket.pools.size()) continue;
    const auto& [pages, limit] = bucket.pools[in.scene.selection.group];
    Stack stack({in.scale, column, InIdle::goes_on}, area);
    stack.add(height(pages.evictable), with_alpha(colours.evictable, 0.75F));
    stack.add(height(pages.protected_), with_alpha(colours.protected_, 0.9F));
    stack.add(height(pages.owned), with_alpha(colours.owned, 0.9F));
    stack.add(height(pages.free), colours.free);
    if (limit == kUnlimited || limit == 0) continue;
    const float y = area.bottom - height(limit);
    list->AddRectFilled({std::max(in.scale.left, in.scale.x_of(column.from)), y - 1},
                        {std::min(in.scale.right, in.scale.x_of(column.to)), y + 1}, with_alpha(colours.text, 0.8F));
  }
}

void draw_tenants_held(const TrackInput& in, const TrackArea& area, std::uint64_t top_tokens) {
  const std::vector<History::Tenant>& tenants = in.history.tenants();
  for (const TimeColumn& column : in.columns) {
    const std::vector<std::uint64_t>& held = in.history.held(column.bucket);
    Stack stack({in.scale, column, InIdle::goes_on}, area);
    for (std::size_t row = 1; row <= held.size(); ++row) {
      const std::size_t place = row == held.size() ? 0 : row;  // the others last
      if (place >= held.size()) continue;
      const bool chosen = !in.scene.selection.space || tenants[place].space == *in.scene.selection.space;
      const ImU32 colour = place == 0 ? palette().tombstone : palette().of(tenants[place].space);
      stack.add(area.height() * static_cast<float>(static_cast<double>(held[place]) / static_cast<double>(top_tokens)),
                with_alpha(colour, chosen ? 0.9F : 0.25F));
    }
  }
}

}  // namespace

void draw_pool(const TrackInput& in, const TrackArea& area, bool by_tenant) {
  const std::size_t group = in.scene.selection.group;
  const std::vector<Bucket>& buckets = in.history.buckets();
  const Bucket* bucket = in.at ? &buckets[in.at->bucket] : buckets.empty() ? nullptr : &buckets.back();
  std::string words = "-";
  std::uint64_t held = 0;
  if (bucket) {
    for (const std::uint64_t each : in.history.held(static_cast<std::size_t>(bucket - buckets.data()))) held += each;
    words = tokens(held);
  }
  if (bucket && group < bucket->pools.size() && !by_tenant) {
    const MirrorPool::Sums& pages = bucket->pools[group].pages;
    words = percent(pages.evictable + pages.protected_, pages.free + pages.evictable + pages.protected_ + pages.owned) +
            " cached";
  }
  draw_track(in, area, by_tenant ? "cached, by tenant" : "pool", words, palette().text);
  const std::uint64_t top = pool_top(in.scene.time.history, group);
  if (by_tenant) draw_tenants_held(in, area, std::max<std::uint64_t>(1, top * in.history.page_size()));
  else draw_states(in, area, top);
}

void draw_evictions(const TrackInput& in, const TrackArea& area) {
  const Palette& colours = palette();
  const std::array<ImU32, kEvictionCauses> of = {colours.bad, colours.warn, colours.accent, colours.tombstone};
  const Counts& counts = in.at ? in.at->counts : in.scene.figures.range().counts;
  draw_track(in, area, "evicted", tokens(counts[Count::evicted]), colours.text);
  std::vector<double> densities;
  for (const TimeColumn& column : in.columns) densities.push_back(column.density(column.counts[Count::evicted]));
  const double most = usual_most(std::move(densities));
  for (const TimeColumn& column : in.columns) {
    Stack stack({in.scale, column, InIdle::nothing}, area);
    for (std::size_t cause = 0; cause < kEvictionCauses; ++cause)
      stack.add(area.height() * static_cast<float>(std::min(1.0, column.density(column.evicted[cause]) / most)),
                with_alpha(of[cause], 0.85F));
    if (column.density(column.counts[Count::evicted]) > most) stack.cut();
  }
}

void draw_traffic(const TrackInput& in, const TrackArea& area) {
  const Palette& colours = palette();
  const TrafficCounts& of = in.at ? in.at->traffic : in.scene.figures.range().traffic;
  const auto at = [&](const TrafficCounts& counts, Traffic which) { return counts[static_cast<std::size_t>(which)]; };
  const auto up = [&](const TrafficCounts& c) { return at(c, Traffic::loaded_host) + at(c, Traffic::loaded_storage); };
  const auto down = [&](const TrafficCounts& c) {
    return at(c, Traffic::stored_host) + at(c, Traffic::stored_storage);
  };
  draw_track(in, area, "tiers",
             fmt::format("{} up, {} down", brief(static_cast<double>(up(of))), brief(static_cast<double>(down(of)))),
             colours.text);
  std::vector<double> densities;
  for (const TimeColumn& column : in.columns)
    densities.push_back(std::max(column.density(up(column.traffic)), column.density(down(column.traffic))));
  const double most = usual_most(std::move(densities));
  const float middle = (area.top + area.bottom) / 2;
  const auto half = [&](const TimeColumn& column, std::uint64_t count) {
    return area.height() / 2 * static_cast<float>(std::min(1.0, column.density(count) / most));
  };
  for (const TimeColumn& column : in.columns) {
    const ColumnPieces pieces(in.scale, column, InIdle::nothing);
    Stack stack(pieces, {area.words, area.top, middle});
    stack.add(half(column, at(column.traffic, Traffic::loaded_host)), colours.on_host);
    stack.add(half(column, at(column.traffic, Traffic::loaded_storage)), colours.in_both);
    if (const float height = half(column, down(column.traffic)); height > 0)
      pieces.fill(middle, middle + height, with_alpha(colours.owned, 0.8F));
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({in.scale.left, middle}, {in.scale.right, middle}, colours.line);
}

void draw_lane(const TrackInput& in, const TrackArea& area, Traffic which, ImU32 colour) {
  const auto lane = static_cast<std::size_t>(which);
  const std::uint64_t all = (in.at ? in.at->traffic : in.scene.figures.whole_tenants().traffic)[lane];
  draw_track(in, area, kTrafficNames[lane], which == Traffic::fetches ? grouped(all) : tokens(all), palette().text);
  std::vector<double> densities;
  for (const TimeColumn& column : in.columns) densities.push_back(column.density(column.traffic[lane]));
  const double most = usual_most(std::move(densities));
  for (const TimeColumn& column : in.columns) {
    const double density = column.density(column.traffic[lane]);
    Stack stack({in.scale, column, InIdle::nothing}, area);
    stack.add(area.height() * static_cast<float>(std::min(1.0, density / most)), colour);
    if (density > most) stack.cut();
  }
}

namespace {

/// A mark of the feed or of the user, on the timeline.
struct ShownMark {
  double value;
  ImU32 colour;
  std::string name, words;
};

std::vector<ShownMark> shown_marks(const Timeline& time) {
  const Palette& colours = palette();
  const std::array<ImU32, kMarkNames.size()> of = {colours.accent, colours.warn, colours.text, colours.bad,
                                                   colours.good,   colours.dim,  colours.bad};
  const TimeAxis axis = time.axis();
  std::vector<ShownMark> shown;
  for (const HistoryMark& mark : time.history.marks()) {
    const auto kind = static_cast<std::size_t>(mark.kind);
    shown.push_back({axis.value_of(mark.at), of[kind], kMarkNames[kind],
                     fmt::format("{} at commit {}", mark.text, grouped(mark.at.commit))});
  }
  for (const Note& note : time.notes.all())
    shown.push_back({axis.value_of(note.commit), colours.warn,
                     fitted(note.text.empty() ? "note" : note.text, em() * 12),
                     fmt::format("Note at commit {}: {}", grouped(note.commit), note.text.empty() ? "-" : note.text)});
  std::sort(shown.begin(), shown.end(), [](const ShownMark& a, const ShownMark& b) {
    return a.value != b.value ? a.value < b.value : a.words < b.words;
  });
  return shown;
}

}  // namespace

void draw_doubtful_time(const Timeline& time, const TimeAxis& axis, const TimeScale& scale, float top, float bottom) {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect({scale.left, top}, {scale.right, bottom}, true);
  const auto x_of = [&](double value) { return std::clamp(scale.x_of(value), scale.left - 1, scale.right + 1); };
  for (const LostStretch& lost : time.history.lost()) {
    // A lost time to which the axis gives no width is a narrow gap.
    const float x1 = x_of(axis.value_of(lost.until)), x0 = std::min(x_of(axis.value_of(lost.from)), x1 - em() * 0.3F);
    if (x1 <= scale.left || x0 >= scale.right) continue;
    list->AddRectFilled({x0, top}, {x1, bottom}, colours.background);
    hatch(list, {x0, top}, {x1, bottom}, with_alpha(colours.bad, 0.55F), true, em() * 0.7F);
  }
  if (const HistoryMoment damaged = time.history.damaged()) {
    const float x = x_of(axis.value_of(damaged.commit - 1));
    list->AddRectFilled({x, top}, {scale.right, bottom}, with_alpha(colours.background, kDoubted));
    hatch(list, {x, top}, {scale.right, bottom}, with_alpha(colours.bad, 0.5F), false, em() * 0.9F);
    list->AddLine({x, top}, {x, bottom}, colours.bad, std::max(1.5F, em() / 8));
  }
  list->PopClipRect();
}

std::string draw_marks(const TrackInput& in, const TrackArea& area) {
  const Palette& colours = palette();
  draw_track(in, area, "marks", "", colours.text);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  std::string under;
  float free_from = in.scale.left - em();
  for (const ShownMark& mark : shown_marks(in.scene.time)) {
    const float x = in.scale.x_of(mark.value);
    if (x < in.scale.left || x > in.scale.right) continue;
    const float half = em() * 0.32F, middle = (area.top + area.bottom) / 2;
    list->AddQuadFilled({x, middle - half}, {x + half, middle}, {x, middle + half}, {x - half, middle}, mark.colour);
    if (std::abs(mouse.x - x) < half * 1.5F && mouse.y >= area.top && mouse.y <= area.bottom) under = mark.words;
    const float wide = ImGui::CalcTextSize(mark.name.c_str()).x, left = x + half * 1.4F;
    if (x - half < free_from || left + wide > in.scale.right) continue;
    list->AddText({left, middle - ImGui::GetTextLineHeight() / 2}, colours.dim, mark.name.c_str());
    free_from = left + wide + em() * 0.5F;
  }
  return under;
}

}  // namespace canopy::inspector
