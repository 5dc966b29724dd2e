#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "panels.h"

namespace canopy::inspector {
namespace {

constexpr std::uint64_t kMinute = 60'000'000;

/// Two lines: what it is, dim, and the figure.
void figure(const char* what, const std::string& value, const char* meaning, ImU32 colour) {
  ImGui::BeginGroup();
  dim(what);
  text(value, colour);
  ImGui::EndGroup();
  explain(meaning);
}

void sparkline(const std::vector<SizesPanel::Column>& columns, ImVec2 size) {
  const Palette& colours = palette();
  const ImVec2 from = ImGui::GetCursorScreenPos();
  ImGui::Dummy(size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({from.x, from.y + size.y - 1}, {from.x + size.x, from.y + size.y}, colours.line);
  const float width = size.x / static_cast<float>(std::max<std::size_t>(columns.size(), 1));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].hit_share < 0) continue;
    const float x = from.x + width * static_cast<float>(i);
    const auto height = std::max(1.F, static_cast<float>(columns[i].hit_share) * size.y);
    list->AddRectFilled({x, from.y + size.y - height}, {x + std::max(1.F, width - 1), from.y + size.y}, colours.good);
  }
  explain("Share of the prompts' tokens that were reused, over the time that is remembered; the full height is 100 %.");
}

}  // namespace

Health health_of(const Mirror& mirror) {
  Health health;
  const std::vector<Sample>& samples = mirror.samples();
  if (!samples.empty()) {
    const Sample& now = samples.back();
    const std::uint64_t since = now.us > kMinute ? now.us - kMinute : 0;
    const auto then = std::lower_bound(samples.begin(), samples.end(), since,
                                       [](const Sample& sample, std::uint64_t us) { return sample.us < us; });
    health.hit_tokens = now.hit_tokens - then->hit_tokens;
    health.prompt_tokens = now.prompt_tokens - then->prompt_tokens;
    health.span_us = now.us - then->us;
    if (health.span_us > 0) {
      const double seconds = static_cast<double>(health.span_us) / 1e6;
      health.evicted_per_second = static_cast<double>(now.evicted_tokens - then->evicted_tokens) / seconds;
      health.requests_per_second = static_cast<double>(now.requests - then->requests) / seconds;
    }
  }
  constexpr std::size_t kRecent = 1000;
  std::vector<std::uint64_t> took;
  for (auto at = mirror.requests().rbegin(); at != mirror.requests().rend() && took.size() < kRecent; ++at)
    if (at->ended() && at->begun_us != 0) took.push_back(at->ended_us - at->begun_us);
  if (!took.empty()) {
    const auto nth = [&](std::size_t percent) {
      const auto place = took.begin() + static_cast<std::ptrdiff_t>((took.size() - 1) * percent / 100);
      std::nth_element(took.begin(), place, took.end());
      return static_cast<double>(*place);
    };
    health.p50_us = nth(50);
    health.p99_us = nth(99);
  }
  return health;
}

void draw_health(Scene& scene, const Area& area) {
  begin_panel("##health", area);
  const Palette& colours = palette();
  const Health health = health_of(scene.mirror);
  const auto next = [] { ImGui::SameLine(0, em() * 2); };

  const std::string span = health.span_us >= kMinute * 99 / 100 || health.span_us == 0
                               ? "1 min"
                               : duration(static_cast<double>(health.span_us) / 1e6);
  figure(
      ("hit rate, last " + span).c_str(), percent(health.hit_tokens, health.prompt_tokens),
      "Prompt tokens that were found in the cache, of all prompt tokens of the last minute, or since the engine began.",
      health.prompt_tokens == 0 ? colours.dim : colours.text);
  next();
  const float line = ImGui::GetTextLineHeightWithSpacing() + ImGui::GetTextLineHeight();
  const bool wide = area.width > em() * 80;
  sparkline(SizesPanel::columns(scene.mirror.samples(), scene.selection.group, 48), {em() * (wide ? 12.F : 8.F), line});
  next();

  if (scene.selection.group < scene.mirror.groups()) {
    const MirrorPool& pool = scene.pool();
    const MirrorPool::Sums& sums = pool.counted;
    const std::uint64_t all = sums.free + sums.evictable + sums.protected_ + sums.held;
    const struct {
      const char* what;
      std::uint64_t pages;
      ImU32 colour;
      const char* meaning;
    } parts[] = {{"free", sums.free, colours.free, "Pages of nobody."},
                 {"evictable", sums.evictable, colours.evictable,
                  "Pages of the tree that no request holds: reusable, "
                  "and the first to leave."},
                 {"protected", sums.protected_, colours.protected_, "Pages of the tree under a request's lock."},
                 {"held", sums.held, colours.held, "Pages of running requests that are not in the tree yet."}};
    ImGui::BeginGroup();
    // The four as one bar, over their figures.
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const float width = em() * (wide ? 34.F : 29.F), height = ImGui::GetTextLineHeight() * 0.8F;
    ImGui::Dummy({width, ImGui::GetTextLineHeight()});
    ImDrawList* list = ImGui::GetWindowDrawList();
    float x = from.x;
    for (const auto& part : parts) {
      const float share = all ? static_cast<float>(part.pages) / static_cast<float>(all) : 0;
      const ImVec2 a{x, from.y + (ImGui::GetTextLineHeight() - height) / 2}, b{x + share * width, a.y + height};
      if (part.colour == colours.protected_) state_box(list, a, b, NodeState::protected_);
      else list->AddRectFilled(a, b, part.colour);
      x = b.x;
    }
    bool first = true;
    for (const auto& part : parts) {
      if (!first) ImGui::SameLine(0, em());
      first = false;
      if (part.colour == colours.protected_) swatch(NodeState::protected_, part.what);
      else swatch(part.colour, part.what);
      ImGui::SameLine(0, em() * 0.35F);
      text(percent(part.pages, all));
      explain(fmt::format("{} {} of {}.", part.meaning, plural(part.pages, "page"), grouped(all)));
    }
    ImGui::EndGroup();
    next();
  }
  figure("evicted", brief(health.evicted_per_second) + " tok/s",
         "Tokens that left the tree, a second of the engine's own clock, over the same time as the hit rate.",
         colours.text);
  next();
  figure("requests",
         (health.requests_per_second < 100 ? fmt::format("{:.1f}", health.requests_per_second)
                                           : brief(health.requests_per_second)) +
             " /s",
         "Requests begun, over the same time as the hit rate.", colours.text);
  next();
  figure("request p50 / p99",
         health.p50_us < 0 ? "-" : duration(health.p50_us / 1e6) + " / " + duration(health.p99_us / 1e6),
         "From a request's begin to its end on the engine's clock, of the last 1,000 that have ended.", colours.text);
  end_panel();
}

}  // namespace canopy::inspector
