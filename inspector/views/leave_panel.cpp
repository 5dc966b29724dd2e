#include "leave_panel.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include "draw.h"
#include "names.h"
#include "panels.h"

namespace canopy::inspector {

std::string LeavePanel::rule_of(const std::string& policy) {
  const struct {
    const char* name;
    const char* rule;
  } known[] = {{"lru", "what was used longest ago leaves first"},
               {"mru", "what was used last leaves first"},
               {"fifo", "what was created first leaves first"},
               {"filo", "what was created last leaves first"},
               {"lfu", "what was hit least leaves first; among equals, what was used longest ago"},
               {"priority", "the lowest priority leaves first; among equals, what was used longest ago"},
               {"slru", "what was hit too rarely to be protected leaves first; then what was used longest ago"}};
  for (const auto& each : known)
    if (policy == each.name) return each.rule;
  return "the smallest rank leaves first; the policy's own words are in `canopy plugins describe " + policy + "`";
}

std::string LeavePanel::rank_words(const std::string& policy, const Rank& rank, Tick now) {
  const auto ago = [&](std::uint64_t tick) {
    return fmt::format("{} ticks ago", grouped(now > tick ? now - tick : 0));
  };
  if (policy == "lru") return "used " + ago(rank.minor);
  if (policy == "mru") return "used " + ago(~rank.minor);
  if (policy == "fifo") return "created " + ago(rank.minor);
  if (policy == "filo") return "created " + ago(~rank.minor);
  if (policy == "lfu") return fmt::format("{}, used {}", plural(rank.major, "hit"), ago(rank.minor));
  if (policy == "slru") return fmt::format("{}, used {}", rank.major ? "protected" : "on probation", ago(rank.minor));
  if (policy == "priority")
    return fmt::format("priority {}, used {}", static_cast<std::int64_t>(rank.major) + INT32_MIN, ago(rank.minor));
  return rank.major == 0 ? grouped(rank.minor) : fmt::format("{} / {}", grouped(rank.major), grouped(rank.minor));
}

void LeavePanel::draw_row(Scene& scene, std::size_t place) const {
  const MirrorNode& node = scene.mirror.node(slots_[place]);
  const std::string& policy = scene.pool().policy;
  const Rank& rank = node.rank[group_];
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushID(static_cast<int>(place));
  if (ImGui::Selectable("##row", node.id == scene.selection.node, ImGuiSelectableFlags_SpanAllColumns))
    scene.selection.select_node(node.id);
  explain(
      fmt::format("{} of the nodes that can be evicted, because {}. Rank {} / {}: the smallest is evicted first, and "
                  "among equal ranks the smallest number.",
                  place == 0 ? "The first" : fmt::format("Number {}", place + 1), rule_of(policy), grouped(rank.major),
                  grouped(rank.minor)));
  ImGui::PopID();
  ImGui::SameLine(0, 0);
  dim(std::to_string(place + 1));
  ImGui::TableNextColumn();
  text(node_name(node.id));
  ImGui::TableNextColumn();
  number(grouped(node.length));
  ImGui::TableNextColumn();
  text(fitted(rank_words(policy, rank, scene.mirror.tick()), ImGui::GetContentRegionAvail().x));
}

void LeavePanel::draw(Scene& scene) {
  explain(rule_of(scene.pool().policy));
  if (at_ != scene.mirror.commits() || group_ != scene.selection.group) {
    at_ = scene.mirror.commits(), group_ = scene.selection.group;
    slots_ = scene.mirror.next_to_leave(group_, kMost);
  }
  if (slots_.empty())
    return nothing_here("No node can be evicted: each cached node is under a request's lock, or nothing is cached.");
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("leave", 4, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * 1.6F);
  ImGui::TableSetupColumn("node", ImGuiTableColumnFlags_WidthFixed, em() * 4.4F);
  ImGui::TableSetupColumn("tokens", ImGuiTableColumnFlags_WidthFixed, em() * 4);
  ImGui::TableSetupColumn("because");
  column_heads({{""}, {"node"}, {"tokens", true}, {"because"}});
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(slots_.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) draw_row(scene, static_cast<std::size_t>(i));
  ImGui::EndTable();
}

PanelInfo leave_panel() {
  return {
      .title = "NEXT TO LEAVE",
      .row = Row::middle,
      .share = 34,
      .key = 'L',
      .help = "Which nodes are evicted next, in order, and because of what?",
      .make = make_panel<LeavePanel>,
  };
}

}  // namespace canopy::inspector
