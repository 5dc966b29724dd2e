#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/feed_lines.h>

#include <algorithm>
#include <array>

#include "draw.h"
#include "health.h"
#include "panels.h"
#include "timeline_tracks.h"

namespace canopy::inspector {
namespace {

/// Draws two lines: a dim label, and the figure.
void figure(const char* what, const std::string& value, const char* meaning, ImU32 colour) {
  ImGui::BeginGroup();
  dim(what);
  text(value, colour);
  ImGui::EndGroup();
  explain(meaning);
}

/// Draws the hit rate over the whole time.
void sparkline(const Timeline& time, ImVec2 size) {
  const Palette& colours = palette();
  const ImVec2 from = ImGui::GetCursorScreenPos();
  ImGui::Dummy(size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({from.x, from.y + size.y - 1}, {from.x + size.x, from.y + size.y}, colours.line);
  const TimeAxis axis = time.axis();
  const TimeScale scale{axis.first(), axis.last(), from.x, from.x + size.x};
  for (const TimeColumn& column : columns_of(time.history, axis, axis.first(), axis.last(), 48)) {
    const std::uint64_t prompt = column.counts[Count::prompt];
    if (prompt == 0) continue;
    const float share = static_cast<float>(column.counts[Count::hit]) / static_cast<float>(prompt);
    const float height = std::max(1.F, share * size.y);
    ColumnPieces(scale, column, InIdle::faint).fill(from.y + size.y - height, from.y + size.y, colours.good);
  }
  draw_doubtful_time(time, axis, scale, from.y, from.y + size.y - 1);
  explain("Share of prompt tokens that were reused, over the whole time; the full height is 100 %.");
}

/// Part of a pool's pages.
struct Part {
  const char* name;
  std::uint64_t pages;
  ImU32 colour;
  const char* meaning;
  bool hatched = false;
};

std::array<Part, 4> parts_of(const MirrorPool::Sums& sums) {
  const Palette& colours = palette();
  return {{{"free", sums.free, colours.free, "Pages without an owner."},
           {"evictable", sums.evictable, colours.evictable,
            "Cached pages under no lock: requests reuse them, and eviction takes them."},
           {"protected", sums.protected_, colours.protected_, "Cached pages under a request's lock.", true},
           {"owned", sums.owned, colours.owned, "Pages that running requests own: not in the tree yet."}}};
}

/// Draws the parts as one bar.
void draw_shares(const std::array<Part, 4>& parts, std::uint64_t all, float width) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetTextLineHeight() * 0.8F;
  ImGui::Dummy({width, ImGui::GetTextLineHeight()});
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = from.x;
  for (const Part& part : parts) {
    const float share = all ? static_cast<float>(part.pages) / static_cast<float>(all) : 0;
    const ImVec2 a{x, from.y + (ImGui::GetTextLineHeight() - height) / 2}, b{x + share * width, a.y + height};
    if (part.hatched) state_box(list, a, b, NodeState::protected_);
    else list->AddRectFilled(a, b, part.colour);
    x = b.x;
  }
}

/// Draws the pool's pages: a bar above its figures, each at a fixed place.
void draw_pages(const MirrorPool& pool, float width) {
  constexpr std::array<float, 4> kPlaces = {0, 0.2F, 0.49F, 0.775F};  // shares of the width
  const bool narrow = width<em() * 34, named = width> em() * 26;
  const std::array<Part, 4> parts = parts_of(pool.counted);
  std::uint64_t all = 0;
  for (const Part& part : parts) all += part.pages;
  ImGui::BeginGroup();
  draw_shares(parts, all, width);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    // From the group's left edge.
    if (i != 0) ImGui::SameLine((named ? kPlaces[i] : 0.26F * static_cast<float>(i)) * width);
    const char* const name = named ? part.name : "";
    if (part.hatched) swatch(NodeState::protected_, name);
    else swatch(part.colour, name);
    ImGui::SameLine(0, em() * 0.35F);
    const double share = all ? static_cast<double>(part.pages) / static_cast<double>(all) : 0;
    text(narrow ? fmt::format("{:.0f} %", share * 100) : percent(part.pages, all));
    explain(fmt::format("{} {} of {}.", part.meaning, plural(part.pages, "page"), grouped(all)));
  }
  ImGui::EndGroup();
}

std::string hit_rate_words(const Health& health) {
  constexpr std::uint64_t kAlmostAMinute = 59'400'000;
  const bool minute = health.span_us >= kAlmostAMinute || health.span_us == 0;
  return "hit rate, " + (minute ? "1 min" : duration(static_cast<double>(health.span_us) / 1e6));
}

/// Draws the health that KV events report: what is cached where, and how far the events can be trusted.
void draw_from_events(const Scene& scene, const Health& health) {
  const Mirror& mirror = scene.mirror;
  figure("hit rate, requests", "not known", "KV events report neither requests nor hits.", palette().dim);
  ImGui::SameLine(0, em() * 2);
  for (std::size_t g = 0; g < mirror.groups(); ++g) {
    const MirrorPool& pool = mirror.pool(g);
    if (pool.name.empty()) continue;
    const std::uint64_t pages = pool.counted.evictable + pool.counted.protected_;
    figure(("cached, " + pool.name).c_str(), brief(static_cast<double>(pages * mirror.page_size())) + " tok",
           "Tokens of the blocks that servers have stored and not removed. It is not known how many of them are in "
           "use, nor how many more fit.",
           palette().text);
    ImGui::SameLine(0, em() * 2);
  }
  figure("removed", brief(health.evicted_per_second) + " tok/s",
         "Tokens of removed blocks per second, over the last minute or since the feed began.", palette().text);
  ImGui::SameLine(0, em() * 2);
  std::size_t whole = 0;
  for (const std::string& line : mirror.workers()) {
    const WorkerLine server(line);
    whole += server.lost.empty() && server.state.starts_with("whole");
  }
  const bool all = whole == mirror.workers().size();
  figure("events", all ? "whole" : fmt::format("{} of {} whole", whole, mirror.workers().size()),
         "Servers that are there and from which every message has arrived. Key 6 shows what is missing.",
         all ? palette().good : palette().warn);
}

/// Each figure has a fixed place, whatever the values: nothing moves sideways.
class HealthBar final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Health health = health_of(scene.mirror);
    if (scene.mirror.is_from_events()) return draw_from_events(scene, health);
    const float room = ImGui::GetContentRegionAvail().x / em();
    const float spark = room > 88 ? 12.F : room > 76 ? 8.F : 0.F;
    const float pages = room > 88 ? 34.F : room > 64 ? 31.F : std::max(4.F, room - 10);
    float x = ImGui::GetCursorPosX();
    const auto next = [&](float width) {
      x += width * em();
      ImGui::SameLine(x);
    };
    const ImU32 colour = palette().text;
    const RangeFigures &part = scene.figures.range(), &whole = scene.figures.whole();
    const auto rate = [](const RangeFigures& of) { return percent(of.counts[Count::hit], of.counts[Count::prompt]); };
    if (scene.figures.has_range())
      figure("hit, range | whole", rate(part) + " | " + rate(whole),
             "Share of prompt tokens that were found, in the selected range and over the whole time.",
             palette().accent);
    else
      figure(hit_rate_words(health).c_str(), percent(health.hit_tokens, health.prompt_tokens),
             "Prompt tokens that were found in the cache, of all prompt tokens of the last minute, or since the engine "
             "began.",
             health.prompt_tokens == 0 ? palette().dim : colour);
    next(9.6F);
    if (spark > 0) {
      sparkline(scene.time, {em() * spark, ImGui::GetTextLineHeightWithSpacing() + ImGui::GetTextLineHeight()});
      next(spark + 1.4F);
    }
    if (scene.selection.group < scene.mirror.groups()) {
      draw_pages(scene.pool(), em() * pages);
      next(pages + 1.4F);
    }
    if (room <= 64) return;  // no room for more
    if (scene.figures.has_range() && part.us() > 0 && whole.us() > 0)
      figure("evicted",
             brief(static_cast<double>(part.counts[Count::evicted]) * 1e6 / static_cast<double>(part.us())) + " tok/s",
             "Tokens evicted per second of the engine's own clock, in the selected range.", palette().accent);
    else
      figure("evicted", brief(health.evicted_per_second) + " tok/s",
             "Tokens evicted per second of the engine's own clock, over the same time as the hit rate.", colour);
    next(room > 76 ? 8.F : 7.4F);
    const bool by_range = scene.figures.has_range() && part.us() > 0;
    const double requests =
        by_range ? static_cast<double>(part.counts[Count::requests]) * 1e6 / static_cast<double>(part.us())
                 : health.requests_per_second;
    figure("requests", (requests < 100 ? fmt::format("{:.1f}", requests) : brief(requests)) + " /s",
           "Requests that began per second, over the same time as the hit rate.", by_range ? palette().accent : colour);
    next(room > 76 ? 6.6F : 5.6F);
    figure("request p50 / p99",
           health.p50_us < 0 ? "-" : duration(health.p50_us / 1e6) + " / " + duration(health.p99_us / 1e6),
           "Time from a request's start to its end on the engine's clock, for the last 1,000 ended requests.", colour);
  }
};

}  // namespace

PanelInfo health_bar() {
  return {
      .title = "HEALTH",
      .row = Row::health,
      .help = "Is the cache healthy? Hit rate, use of the pages, evictions, requests and their durations",
      .make = make_panel<HealthBar>,
  };
}

}  // namespace canopy::inspector
