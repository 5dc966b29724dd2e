#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/tier_words.h>

#include <algorithm>
#include <string>
#include <vector>

#include "inputs.h"
#include "list_table.h"
#include "panels.h"
#include "timeline_tracks.h"

namespace canopy::inspector {
namespace {

using listing::Unit;

/// Pages of a group in the host tier.
struct HostPool {
  std::string name;
  std::uint64_t resident, moving, limit;
};

/// Draws resident and moving pages as parts of the limit.
void bar(const HostPool& pool, float width) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float height = em() * 0.9F, limit = static_cast<float>(pool.limit);
  const float top = from.y + em() * 0.15F;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled({from.x, top}, {from.x + width, top + height}, palette().free);
  const float resident = width * std::min(1.F, static_cast<float>(pool.resident) / limit);
  const float moving = std::min(width - resident, width * static_cast<float>(pool.moving) / limit);
  list->AddRectFilled({from.x, top}, {from.x + resident, top + height}, palette().evictable);
  list->AddRectFilled({from.x + resident, top}, {from.x + resident + moving, top + height}, palette().owned);
  ImGui::Dummy({width, ImGui::GetTextLineHeight()});
}

/// The content of the tiers below, the transfers between them and the pools, and the results of fetches.
class TiersPanel final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Mirror& mirror = scene.mirror;
    if (!mirror.has_host())
      return nothing_here(
          "There is no tier below the pools: evicted pages are lost.\n\n"
          "To add one, set 'tiers' in the engine's file.");
    ImGui::BeginChild("tiers");
    draw_pools(mirror);
    draw_lines(mirror, "host");
    if (!mirror.storage().empty()) {
      draw_health(mirror);
      draw_lines(mirror, "storage");
    }
    draw_lanes(scene);
    ImGui::EndChild();
  }

 private:
  /// Draws each kind of traffic over the whole time. A click goes to that moment of a recording.
  void draw_lanes(Scene& scene) {
    const History& history = scene.time.history;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const TimeAxis axis = scene.time.axis();
    if (room.y < em() * 8 || history.empty() || !(axis.last() > axis.first())) return;
    ImGui::Dummy({0, em() * 0.8F});
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const TimeScale scale{axis.first(), axis.last(), from.x + em() * kLabels, from.x + room.x};
    if (summed_.changed(history.commits(), room.x, scene.time.axis_by)) {
      columns_ = columns_of(history, axis, axis.first(), axis.last(),
                            static_cast<std::size_t>(std::max(1.F, room.x / std::max(2.F, em() / 6))));
    }
    const bool storage = !scene.pools.storage().empty();
    const std::size_t lanes = storage ? kTrafficNames.size() : 3;
    const float foot = ImGui::GetTextLineHeight() * 1.2F, gap = em() * 0.3F;
    const float tall = std::min(em() * 8, (room.y - em() - foot) / static_cast<float>(lanes) - gap);
    ImGui::InvisibleButton("lanes", {room.x, (tall + gap) * static_cast<float>(lanes) + foot});
    TrackInput in{scene, history, scale, columns_};
    const float mouse = ImGui::GetIO().MousePos.x;
    if (ImGui::IsItemHovered() && mouse >= scale.left)
      for (const TimeColumn& column : columns_)
        if (scale.x_of(column.to) >= mouse) {
          in.at = &column;
          break;
        }
    if (ImGui::IsItemActivated() && mouse >= scale.left)
      if (const std::uint64_t commit = axis.commit_at(scale.value_at(mouse)); scene.time.has(commit))
        scene.time.seek(commit);
    const Palette& colours = palette();
    const ImU32 of[] = {colours.accent, colours.on_host, colours.owned, colours.in_both, colours.protected_};
    float y = from.y;
    for (std::size_t lane = 0; lane < lanes; ++lane, y += tall + gap)
      draw_lane(in, {from.x, y, y + tall}, static_cast<Traffic>(lane), of[lane]);
    draw_doubtful_time(scene.time, axis, scale, from.y, y - gap);
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (const TimeAxis::Mark& mark : axis.marks(scale.from, scale.to, static_cast<std::size_t>(room.x / em() / 8))) {
      const float wide = ImGui::CalcTextSize(mark.words.c_str()).x;
      list->AddText({std::clamp(scale.x_of(mark.value) - wide / 2, scale.left, scale.right - wide), y}, colours.dim,
                    mark.words.c_str());
    }
    if (!scene.time.seekable || scene.time.follows()) return;
    const float x = scale.x_of(axis.value_of(scene.time.at));
    list->AddLine({x, from.y}, {x, y}, colours.selected, std::max(1.5F, em() / 8));
  }

  static void draw_pools(const Mirror& mirror) {
    const std::uint64_t page = mirror.page_size();
    std::vector<HostPool> pools;
    for (std::size_t g = 0; g < mirror.groups(); ++g) {
      const CounterValues& counters = mirror.counters();
      pools.push_back({mirror.pool(g).name, counters.at(Counter::resident_pages_host, g),
                       counters.at(Counter::moving_pages_host, g), counters.at(Counter::limit_pages_host, g)});
    }
    listing::Listing<HostPool> list;
    const float padding = 2 * ImGui::GetStyle().CellPadding.x / em();  // the bar is above the charts
    list.add("on the host", Unit::text, [](const HostPool& pool) { return pool.name; }).wide(kLabels - padding);
    list.add("", Unit::text, [](const HostPool&) { return std::string(); }).explained([](const HostPool& pool) {
      return fmt::format("{} of {} are resident, copies are filling {}", grouped(pool.resident),
                         plural(pool.limit, "page"), grouped(pool.moving));
    });
    list.add("tokens", Unit::tokens, [page](const HostPool& pool) { return pool.resident * page; }).wide(4);
    list.add("limit", Unit::tokens, [page](const HostPool& pool) { return pool.limit * page; }).wide(4);
    list.add("moving", Unit::tokens, [page](const HostPool& pool) { return pool.moving * page; }).wide(4);
    const auto draw_cell = [](const std::string& head, const HostPool& pool) {
      if (head.empty()) bar(pool, std::max(em(), ImGui::GetContentRegionAvail().x));
      return head.empty();
    };
    ListTable<HostPool>{.id = "pools", .columns = list, .draw_cell = draw_cell, .scrolls = false}.draw(pools);
  }

  static void draw_health(const Mirror& mirror) {
    const event::StorageHealth& health = mirror.storage_health();
    const ImU32 colour = health.state == StorageState::closed ? palette().good
                         : health.state == StorageState::open ? palette().bad
                                                              : palette().warn;
    ImGui::Spacing();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    fact("storage", "    " + mirror.storage() + ", " + breaker_words(health, mirror.counters()[Counter::turn_us]),
         kLabels);
    ImGui::GetWindowDrawList()->AddCircleFilled({at.x + em() * (kLabels + 0.4F), at.y + em() * 0.55F}, em() * 0.25F,
                                                colour);
    explain("After five failed or late calls in a row, calls pause for a time that doubles up to 1.5 s.");
  }

  /// Draws a line for each lane and each counter with outcomes. Groups are drawn as bars instead.
  static void draw_lines(const Mirror& mirror, std::string_view tier) {
    for (const TierLine& line : tier_lines(mirror.counters(), tier, {})) {
      if (line.text.empty()) continue;
      dim(line.label);
      ImGui::SameLine(kLabels * em());
      text(in_lines(line.text, ImGui::GetContentRegionAvail().x));
    }
  }

  static constexpr float kLabels = 9;  // width of the first column, in ems
  Inputs<std::uint64_t, float, AxisBy> summed_;
  std::vector<TimeColumn> columns_;
};

}  // namespace

PanelInfo tiers_panel() {
  return {
      .title = "TIERS",
      .row = Row::page,
      .key = '7',
      .help = "What do the tiers below the pools hold, what moves between them, and how did fetches end?",
      .make = make_panel<TiersPanel>,
      .figures = FiguresOf::until_here,
      .not_in_events = "Not known: KV events of other servers report only one tier.",
  };
}

}  // namespace canopy::inspector
