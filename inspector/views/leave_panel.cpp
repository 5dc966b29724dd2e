#include <fmt/format.h>
#include <mirror/rank_text.h>

#include "figures.h"
#include "panels.h"

namespace canopy::inspector {

namespace {

/// What the policy says of itself; every policy may.
std::string rule_of(const MirrorPool& pool) {
  return pool.policy_rule.empty() ? "the node with the smallest rank is evicted first" : pool.policy_rule;
}

}  // namespace

void LeavePanel::draw(Scene& scene, const Area& area) {
  const MirrorPool& pool = scene.pool();
  begin_panel("NEXT TO EVICT", area, pool.policy);
  explain(rule_of(pool));
  if (at_ != scene.mirror.commits() || group_ != scene.selection.group) {
    at_ = scene.mirror.commits(), group_ = scene.selection.group;
    slots_ = scene.mirror.next_to_evict(group_, kMost);
  }
  if (slots_.empty()) {
    nothing_here("No node waits to be evicted: all that is cached is under a lock, or nothing is cached.");
    end_panel();
    return;
  }
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  if (ImGui::BeginTable("leave", 4, kFlags)) {
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * 1.6F);
    ImGui::TableSetupColumn("node", ImGuiTableColumnFlags_WidthFixed, em() * 4.4F);
    ImGui::TableSetupColumn("tokens", ImGuiTableColumnFlags_WidthFixed, em() * 4);
    ImGui::TableSetupColumn("because");
    column_heads({{""}, {"node"}, {"tokens", true}, {"because"}});
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(slots_.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const MirrorNode& node = scene.mirror.node(slots_[static_cast<std::size_t>(i)]);
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        ImGui::PushID(i);
        if (ImGui::Selectable("##row", node.id == scene.selection.node, ImGuiSelectableFlags_SpanAllColumns))
          scene.selection.select_node(node.id);
        explain(
            fmt::format("{} of the nodes that wait: {}. Rank {} / {}: the smallest is evicted first, and among equal "
                        "ranks the smallest slot.",
                        i == 0 ? "The first" : fmt::format("Number {}", i + 1), rule_of(pool),
                        grouped(node.rank[group_].major), grouped(node.rank[group_].minor)));
        ImGui::PopID();
        ImGui::SameLine(0, 0);
        dim(std::to_string(i + 1));
        ImGui::TableNextColumn();
        text(node_name(node.id));
        ImGui::TableNextColumn();
        number(grouped(node.length));
        ImGui::TableNextColumn();
        text(fitted(rank_words(pool.policy_rank, node.rank[group_], scene.mirror.tick()), ImGui::GetContentRegionAvail().x));
      }
    ImGui::EndTable();
  }
  end_panel();
}

}  // namespace canopy::inspector
