#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>
#include <mirror/rank_text.h>

#include <unordered_set>
#include <utility>
#include <vector>

#include "draw.h"
#include "held_list.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// Returns the policy's description of its rule; a general one if the policy has none.
std::string rule_of(const MirrorPool& pool) {
  return pool.policy_rule.empty() ? "the node with the smallest rank is evicted first" : pool.policy_rule;
}

/// Returns the first node of the path to a node: what is below it is the node's part of the tree.
const MirrorNode& first_of_path(const Mirror& mirror, const MirrorNode& node) {
  constexpr std::size_t kMostSteps = 100'000;
  const MirrorNode* at = &node;
  for (std::size_t i = 0; i < kMostSteps && at->parent != 0; ++i) at = &mirror.node(at->parent);
  return *at;
}

/// The nodes that are evicted next, in order, each with its rank.
class LeavePanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override {
    return scene.selection.tier ? scene.pool().policy + ", on the host" : scene.pool().policy;
  }

  void draw(Scene& scene) override {
    explain(rule_of(scene.pool()));
    list(scene);
    held_.draw_new(changed_, "changed");
    if (rows_.empty())
      return nothing_here("No node can be evicted: nothing is cached, or each cached node is under a lock.");
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
    const bool wide = ImGui::GetContentRegionAvail().x > em() * 26;
    if (!ImGui::BeginTable("leave", 6, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * 1.6F);
    ImGui::TableSetupColumn("node", ImGuiTableColumnFlags_WidthFixed, em() * 4.4F);
    ImGui::TableSetupColumn("tokens", ImGuiTableColumnFlags_WidthFixed, em() * 4);
    const ImGuiTableColumnFlags shown = wide ? 0 : ImGuiTableColumnFlags_Disabled;
    ImGui::TableSetupColumn("hits", ImGuiTableColumnFlags_WidthFixed | shown, em() * 3);
    ImGui::TableSetupColumn("tenant", shown, 0.7F);
    ImGui::TableSetupColumn("because");
    column_heads({{""}, {"node"}, {"tokens", true}, {"hits", true}, {"tenant"}, {"because"}});
    held_.look();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) draw_row(scene, static_cast<std::size_t>(i));
    ImGui::EndTable();
  }

 private:
  static constexpr std::size_t kMost = 200;

  void list(const Scene& scene) {
    const bool same_tier = std::exchange(shown_, scene.shown()) == scene.shown();
    const bool same_group = std::exchange(group_, scene.selection.group) == scene.selection.group && same_tier;
    if (at_ == scene.mirror.commits() && same_group && changed_ == 0) return;
    at_ = scene.mirror.commits();
    std::vector<std::uint64_t> now;
    for (const std::uint32_t slot : scene.mirror.next_to_evict(group_, kMost))
      now.push_back(scene.mirror.node(slot).id);
    picked_ = picked_ == scene.selection.node ? picked_ : 0;
    changed_ = 0;
    if (same_group && !rows_.empty() && held_.holds(scene.moves(), picked_ != 0)) {
      const std::unordered_set<std::uint64_t> had(rows_.begin(), rows_.end());
      for (const std::uint64_t id : now) changed_ += !had.contains(id);
      return;
    }
    rows_ = std::move(now);
    held_.listed();
  }

  void draw_row(Scene& scene, std::size_t place) {
    const std::uint64_t id = rows_[place];
    const MirrorNode* const known = scene.mirror.find(id);
    if (!known) return draw_evicted(place, id);
    const MirrorNode& node = *known;
    const MirrorPool& pool = scene.pool();
    const Rank& rank = pool.rank[slot_of(NodeId{id})];
    const std::string words = rank_words(pool.policy_rank, rank, scene.mirror.tick());
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(place));
    if (ImGui::Selectable("##row", node.id == scene.selection.node, ImGuiSelectableFlags_SpanAllColumns))
      scene.selection.select_node(node.id), picked_ = node.id;
    explain(
        fmt::format("{} of the evictable nodes. Rule: {}. This node: {}. Rank {} / {}: the smallest is evicted first, "
                    "and among equal ranks the smallest slot.",
                    place == 0 ? "The first" : fmt::format("Number {}", place + 1), rule_of(pool), words,
                    grouped(rank.major), grouped(rank.minor)));
    ImGui::PopID();
    ImGui::SameLine(0, 0);
    dim(std::to_string(place + 1));
    ImGui::TableNextColumn();
    text(node_name(node.id));
    ImGui::TableNextColumn();
    number(grouped(node.length));
    ImGui::TableNextColumn();
    number(grouped(node.uses()));
    ImGui::TableNextColumn();
    const std::string tenant = space_name(scene.mirror, node.space);
    text(fitted(tenant, ImGui::GetContentRegionAvail().x));
    if (ImGui::IsItemHovered())
      explain(fmt::format("{}, in the tree below {}", tenant, node_name(first_of_path(scene.mirror, node).id)));
    ImGui::TableNextColumn();
    text(fitted(words, ImGui::GetContentRegionAvail().x));
  }

  /// Draws a node that was evicted while the list held still.
  static void draw_evicted(std::size_t place, std::uint64_t id) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    dim(std::to_string(place + 1));
    ImGui::TableNextColumn();
    dim(node_name(id));
    for (int i = 0; i < 4; ++i) ImGui::TableNextColumn();
    dim("evicted meanwhile");
  }

  std::uint64_t at_ = ~std::uint64_t{0};
  std::uint64_t shown_ = 0;              ///< Scene::shown
  std::size_t group_ = 0, changed_ = 0;  ///< changed_: number of nodes missing from the list while it holds still
  std::vector<std::uint64_t> rows_;      ///< ids
  std::uint64_t picked_ = 0;             ///< node that was selected here, while it stays selected
  HeldList held_;
};

}  // namespace

PanelInfo leave_panel() {
  return {
      .title = "NEXT TO EVICT",
      .row = Row::tab,
      .key = 'L',
      .help = "Which nodes are evicted next, in which order, and why?",
      .make = make_panel<LeavePanel>,
      .not_in_events = "Not known: KV events report which blocks were evicted, not which will be.",
      .needs_nodes = true,
      .shows_tier = true,
  };
}

}  // namespace canopy::inspector
