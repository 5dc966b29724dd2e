#include "tree_panel.h"

#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <string>
#include <utility>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {

bool TreePanel::back() {
  if (!search_.sentence().empty()) return search_.clear(), true;
  return view_ == TreeView::icicle ? icicle_.zoom_out() : nodes_.zoom_out();
}

void TreePanel::zoom_to(const Scene& scene, std::uint32_t place) {
  if (place == TreeIndex::kNowhere) return;
  if (view_ == TreeView::icicle) icicle_.zoom_to(scene, place);
  else nodes_.zoom_to(scene, place);
}

void TreePanel::fold(const Mirror& mirror, std::uint64_t node_id) {
  if (folded_.erase(node_id) == 0 && mirror.find(node_id)) folded_.insert(node_id);
  std::erase_if(folded_, [&](std::uint64_t id) { return !mirror.find(id); });
}

bool TreePanel::middle_of(const TreeIndex& tree, std::uint64_t node_id, ImVec2& at) const {
  const std::uint32_t place = tree.place_of(slot_of(static_cast<NodeId>(node_id)));
  return view_ == TreeView::icicle ? icicle_.middle_of(place, at) : nodes_.middle_of(place, at);
}

void TreePanel::draw(Scene& scene) {
  draw_bar(scene);
  if (scene.tree.tokens() == 0) {
    const Notice notice = notice_of(scene.session, scene.mirror);
    return nothing_here(notice.what.empty()
                            ? "Nothing is cached yet. The tree begins with the first request that commits tokens."
                            : notice.what + "\n\n" + notice.next);
  }
  draw_found();
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const ImVec2 size{room.x, room.y - ImGui::GetTextLineHeightWithSpacing()};
  if (size.x > em() && size.y > em()) {
    ImGui::InvisibleButton("tree", size);
    const bool hidden = unfold_selected(scene);
    const std::uint64_t folded =
        view_ == TreeView::icicle ? icicle_.draw(scene, from, size) : nodes_.draw(scene, from, size);
    scene.selection.reveal = hidden;
    if (folded != 0) fold(scene.mirror, folded);
  }
  ImGui::SetCursorScreenPos({from.x, from.y + size.y + ImGui::GetStyle().ItemSpacing.y});
  draw_foot(scene);
}

/// Unfolds the nodes that hide a node that must be visible. Returns true if there were any: the node is visible after
/// the next layout.
bool TreePanel::unfold_selected(const Scene& scene) {
  const MirrorNode* node = scene.selection.reveal ? scene.node() : nullptr;
  if (!node || scene.tree.place_of(slot_of(static_cast<NodeId>(node->id))) != TreeIndex::kNowhere) return false;
  bool unfolded = false;
  for (std::uint32_t slot = node->parent; slot != 0; slot = scene.mirror.node(slot).parent)
    unfolded |= folded_.erase(scene.mirror.node(slot).id) != 0;
  return unfolded;
}

void TreePanel::draw_bar(Scene& scene) {
  const float indent = ImGui::GetStyle().WindowPadding.x;
  const auto next = [&](const char* words, float gap) {
    flow(ImGui::CalcTextSize(words).x + 2 * ImGui::GetStyle().FramePadding.x, indent, gap);
  };
  if (scene.pools.below()) {
    for (const bool tier : {false, true}) {
      next("pools", tier ? 0.4F : 1.F);
      if (choice(tier ? "host" : "pools", scene.selection.tier == tier)) scene.selection.show_tier(tier);
      explain(tier ? "The tree of the tier below: copies in the host's memory." : "The tree of the pools.");
    }
  }
  for (std::size_t i = 0; i < kTreeViewNames.size(); ++i) {
    next(kTreeViewNames[i], i == 0 ? 1.F : 0.4F);
    if (choice(kTreeViewNames[i], view_ == static_cast<TreeView>(i))) view_ = static_cast<TreeView>(i);
  }
  next("colour", 1.2F);
  dim("colour");
  for (std::size_t i = 0; i < kColourNames.size(); ++i) {
    const auto by = static_cast<ColourBy>(i);
    if (scene.mirror.is_from_events() && (by == ColourBy::recency || by == ColourBy::hits)) continue;
    if (by == ColourBy::tier && !scene.pools.below()) continue;
    next(kColourNames[i], 0.4F);
    if (choice(kColourNames[i], scene.selection.colour == by)) scene.selection.colour = by;
    if (by == ColourBy::tier) explain("The tiers that contain each prefix: the pools, the host, or both.");
  }
  flow(em() * 6, indent, 1.2F);
  const float width = std::min(em() * 22, ImGui::GetContentRegionAvail().x);
  ImGui::SetNextItemWidth(width);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, 1});
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() - 1);  // aligns its text with that of the buttons
  if (std::exchange(search_wanted_, false)) ImGui::SetKeyboardFocusHere();
  if (ImGui::InputTextWithHint("##find", fitted("/ find #12, r 4711, a namespace, tokens 12 845 9", width).c_str(),
                               wanted_.data(), wanted_.size(),
                               ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll)) {
    find(scene);
  }
  ImGui::PopStyleVar();
}

void TreePanel::find(Scene& scene) {
  std::uint64_t request = 0;
  if (!parse_request_name(wanted_.data(), request)) {
    search_.look_for(scene.mirror, wanted_.data());
    return show_hit(scene);
  }
  search_.clear();
  const std::uint64_t begun = scene.time.begun ? scene.time.begun(request) : 0;
  if (begun == 0 && !scene.mirror.request(request))
    return search_.say(
        fmt::format("request {} is not {}", request, !scene.time.live ? "in this recording" : "remembered"));
  if (begun != 0) scene.time.seek(begun);
  scene.selection.request_wanted = request;
}

/// Draws the result of a search on its own line, because it may be long.
void TreePanel::draw_found() {
  if (const std::string sentence = search_.sentence(); !sentence.empty())
    wrapped(sentence, search_.hits() == 0 ? palette().bad : palette().text);
}

bool TreePanel::step_search(Scene& scene, bool back) {
  if (!search_.step(scene.mirror, back)) return false;
  show_hit(scene);
  return true;
}

void TreePanel::show_hit(Scene& scene) {
  const TreeSearch::Hit* hit = search_.hit();
  if (!hit) return;
  if (hit->node != 0) return scene.selection.select_node(hit->node);
  for (std::uint32_t place = 0; place < scene.tree.roots().count; ++place)
    if (scene.tree[place].space == static_cast<std::uint32_t>(hit->space)) zoom_to(scene, place);
}

void TreePanel::draw_foot(const Scene& scene) {
  if (scene.selection.colour == ColourBy::tier && !scene.shares.known())
    dim("tiers not known: the feed has no 'tokens: true'");
  else colour_legend(scene.selection.colour, scene.mirror);
  if (scene.selection.colour == ColourBy::tier && scene.shares.known() && !scene.pools.storage().empty())
    storage_legend();
  const std::string scale = view_ == TreeView::icicle ? icicle_.scale(scene.tree) : nodes_.scale(scene);
  const float width = ImGui::CalcTextSize(scale.c_str()).x;
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x <= width) return;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - width);
  dim(scale);
}

PanelInfo tree_panel() {
  return {
      .title = "TREE",
      .row = Row::top,
      .share = 62,
      .key = 'T',
      .help = "Where did my tokens go? Every cached prefix, as an icicle or as nodes and links",
      .make = make_panel<TreePanel>,
      .figures = FiguresOf::moment,
      .needs_nodes = true,
      .shows_tier = true,
  };
}

}  // namespace canopy::inspector
