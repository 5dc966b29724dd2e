#include <canopy/support/figures.h>
#include <fmt/format.h>
#include <mirror/tier_words.h>

#include <string>

#include "draw.h"
#include "panels.h"
#include "storage_facts.h"

namespace canopy::inspector {
namespace {

/// Resident and moving pages as parts of the limit.
void bar(const MirrorPool::Below& pool, float width) {
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

/// What the tiers below have, what moves between it and the pools, and how fetches went.
class TiersPanel final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Mirror& mirror = scene.mirror;
    if (mirror.groups() == 0 || mirror.pool(0).below.limit == 0)
      return nothing_here(
          "There is no tier below the pools: what is evicted is lost.\n\n"
          "'tiers' in the engine's file makes one.");
    ImGui::BeginChild("tiers");
    draw_pools(mirror);
    draw_lanes(mirror);
    // Values stand under the second column of the tables.
    const float column = kLabels + 2 * ImGui::GetStyle().CellPadding.x / em();
    draw_fetches(mirror.tier(), column);
    storage_facts(mirror, column);
    ImGui::EndChild();
  }

 private:
  static constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;

  static void draw_pools(const Mirror& mirror) {
    if (!ImGui::BeginTable("pools", 4, kFlags)) return;
    ImGui::TableSetupColumn("on the host", ImGuiTableColumnFlags_WidthFixed, em() * kLabels);
    ImGui::TableSetupColumn("");
    ImGui::TableSetupColumn("tokens", ImGuiTableColumnFlags_WidthFixed, em() * 7.5F);
    ImGui::TableSetupColumn("moving", ImGuiTableColumnFlags_WidthFixed, em() * 4);
    column_heads({{"on the host"}, {""}, {"tokens", true}, {"moving", true}});
    for (std::size_t g = 0; g < mirror.groups(); ++g) {
      const MirrorPool& pool = mirror.pool(g);
      const std::uint64_t page = mirror.page_size();
      const auto in_tokens = [&](std::uint64_t pages) { return brief(static_cast<double>(pages * page)); };
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      text(fitted(pool.name, ImGui::GetContentRegionAvail().x));
      ImGui::TableNextColumn();
      bar(pool.below, std::max(em(), ImGui::GetContentRegionAvail().x));
      explain(fmt::format("{} of {} are resident, copies fill {}", grouped(pool.below.resident),
                          plural(pool.below.limit, "page"), grouped(pool.below.moving)));
      ImGui::TableNextColumn();
      number(fmt::format("{} of {}", in_tokens(pool.below.resident), in_tokens(pool.below.limit)));
      ImGui::TableNextColumn();
      number(in_tokens(pool.below.moving));
    }
    ImGui::EndTable();
  }

  static void draw_lanes(const Mirror& mirror) {
    const MirrorTier& tier = mirror.tier();
    // Figures that are far apart are hard to read as one line.
    const float width = std::min(ImGui::GetContentRegionAvail().x, em() * 56);
    if (!ImGui::BeginTable("lanes", 6, kFlags, {width, 0})) return;
    ImGui::TableSetupColumn("lane", ImGuiTableColumnFlags_WidthFixed, em() * 6);
    ImGui::TableSetupColumn("copies", ImGuiTableColumnFlags_WidthFixed, em() * 4);
    for (const char* name : {"queued", "a call", "a second", "in all"})
      ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_WidthStretch);
    column_heads(
        {{"lane"}, {"copies", true}, {"queued", true}, {"a call", true}, {"a second", true}, {"in all", true}});
    draw_lane("to the host", tier.store, tier.moved.written);
    draw_lane("from the host", tier.load, tier.moved.loaded);
    storage_lanes(mirror);
    ImGui::EndTable();
  }

  static void draw_lane(const char* name, const MirrorTier::Lane& lane, std::uint64_t tokens) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(name, lane.now.queued != 0 ? palette().text : palette().dim);
    ImGui::TableNextColumn();
    number(grouped(lane.now.queued));
    explain("Copies that have begun and not ended.");
    ImGui::TableNextColumn();
    number(bytes(lane.now.queued_bytes));
    ImGui::TableNextColumn();
    ImGui::TableNextColumn();
    number(bytes(static_cast<std::uint64_t>(lane.bytes_per_second)));
    explain("Over about a second of the time that the engine's turns are told, which a replay simulates.");
    ImGui::TableNextColumn();
    number(lane.now.bytes != 0 ? bytes(lane.now.bytes) : brief(static_cast<double>(tokens)) + " tok");
    explain(plural(tokens, "token"));
  }

  static void draw_fetches(const MirrorTier& tier, float column) {
    fact("fetches", counted_words(tier.fetches.by_outcome, kFetchWords), column);
    const std::string time = fetch_time_words(tier.ends);
    fact("of these", counted_words(tier.ends.by_end, kEndWords) + (time.empty() ? "" : "; " + time), column);
    fact("found", plural(tier.moved.hits, "token") + " that a fetch had brought", column);
    fact("not kept",
         fmt::format("{} not copied, {} copied for nothing, {} evicted there",
                     brief(static_cast<double>(tier.lost.dropped)), brief(static_cast<double>(tier.lost.lost)),
                     brief(static_cast<double>(tier.lost.evicted))),
         column);
  }

  static constexpr float kLabels = 5.5F;  // ems: the width of the tables' first column
};

}  // namespace

PanelInfo tiers_panel() {
  return {
      .title = "TIERS",
      .row = Row::page,
      .key = '7',
      .help = "What have the tiers below the pools, what moves between them, and how did fetches go?",
      .make = make_panel<TiersPanel>,
      .not_in_events = "Not known: KV events of other servers tell of one tier alone.",
  };
}

}  // namespace canopy::inspector
