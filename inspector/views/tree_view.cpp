#include "tree_view.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>

namespace canopy::inspector {
namespace {

/// Draws a padlock and the number of locks.
void lock_mark(ImDrawList* list, ImVec2 right, std::uint32_t locks, ImU32 colour) {
  const std::string count = std::to_string(locks);
  const float size = em() * 0.5F, width = ImGui::CalcTextSize(count.c_str()).x;
  const ImVec2 at{right.x - width - em() * 0.3F, right.y - em() / 2};
  list->AddText(at, colour, count.c_str());
  const ImVec2 box{at.x - size - em() * 0.15F, at.y + em() * 0.5F};
  list->AddRectFilled(box, {box.x + size, box.y + size * 0.75F}, colour, 1);
  list->PathArcTo({box.x + size / 2, box.y}, size * 0.32F, 3.1416F, 6.2832F, 8);
  list->PathStroke(colour, 0, std::max(1.F, em() / 12));
}

/// Calls visit(slot, units before it) for each node of a place.
template <class Visit>
void each_of_chain(const Scene& scene, const TreeIndex::Node& place, Visit&& visit) {
  std::uint64_t before = 0;
  std::uint32_t slot = place.slot;
  for (std::uint32_t i = 0; i < place.chain && slot != 0; ++i, slot = scene.mirror.node(slot).first_child) {
    visit(slot, before);
    before += scene.mirror.node(slot).length;
  }
}

/// Returns the share of a place's own tokens that both tiers have; for a chain, over all its nodes.
float share_of(const Scene& scene, const TreeIndex::Node& place) {
  float both = 0;
  each_of_chain(scene, place, [&](std::uint32_t slot, std::uint64_t) {
    both += scene.shares.of(slot) * static_cast<float>(scene.mirror.node(slot).length);
  });
  return place.own == 0 ? 0 : both / static_cast<float>(place.own);
}

/// Returns the colour of the larger part of a place.
ImU32 tier_colour(const Scene& scene, float both) {
  return both > 0.5F ? palette().in_both : scene.selection.tier ? palette().on_host : palette().in_pools;
}

/// Draws a line under the part that came from a storage.
void draw_stored(const Scene& scene, ImDrawList* list, ImVec2 from, ImVec2 to, const TreeIndex::Node& place) {
  const float scale = place.own == 0 ? 0 : (to.x - from.x) / static_cast<float>(place.own);
  each_of_chain(scene, place, [&](std::uint32_t slot, std::uint64_t before) {
    const TierShares::Part part = scene.shares.stored(slot);
    if (part.until <= part.from) return;
    const auto length = static_cast<float>(scene.mirror.node(slot).length);
    const auto x = [&](float at) { return from.x + scale * (static_cast<float>(before) + at * length); };
    storage_line(list, {x(part.from), from.y}, {x(part.until), to.y});
  });
}

std::string stored_words(const Scene& scene, const TreeIndex::Node& place) {
  float units = 0;
  each_of_chain(scene, place, [&](std::uint32_t slot, std::uint64_t) {
    const TierShares::Part part = scene.shares.stored(slot);
    units += (part.until - part.from) * static_cast<float>(scene.mirror.node(slot).length);
  });
  if (units < 1) return "not known whether the storage has it";
  return fmt::format("{} tokens came from the storage", grouped(static_cast<std::uint64_t>(units + 0.5F)));
}

/// Returns true if another namespace is selected: its nodes are then faint.
bool is_left_out(const Scene& scene, std::uint32_t place) {
  return scene.selection.space && NamespaceId{scene.tree[place].space} != *scene.selection.space;
}

void draw_full(const Scene& scene, ImDrawList* list, ImVec2 from, ImVec2 to, std::uint32_t place) {
  const Palette& colours = palette();
  const TreeIndex::Node& node = scene.tree[place];
  const float width = to.x - from.x;
  const bool by_state =
      scene.selection.colour == ColourBy::state || (scene.selection.colour == ColourBy::tier && !scene.shares.known());
  if (node.slot == 0) {
    list->AddRectFilled(from, to, colours.line, em() * 0.15F);
    if (width < em() * 2) return;
    const std::string name = space_name(scene.mirror, NamespaceId{node.space});
    label(list, from, to,
          first_that_fits({fmt::format("{}   {} tokens in {}", name, grouped(node.tokens), plural(node.nodes, "node")),
                           fmt::format("{}   {} tok", name, brief(static_cast<double>(node.tokens))), name},
                          width),
          colours.text);
    return;
  }
  const MirrorNode& shown_node = scene.mirror.node(node.slot);
  const bool by_tier = scene.selection.colour == ColourBy::tier && scene.shares.known();
  const float both = by_tier ? share_of(scene, node) : 0;
  const ImU32 colour = by_tier ? tier_colour(scene, both)
                               : colour_of(shown_node, node.state, scene.selection.colour, scene.mirror.tick());
  if (width < em() * 0.8F) {
    list->AddRectFilled(from, to, colour);
    return;
  }
  if (by_tier) {
    const float cut = from.x + width * both;
    list->AddRectFilled(from, {cut, to.y}, colours.in_both);
    list->AddRectFilled({cut, from.y}, to, tier_colour(scene, 0));
    draw_stored(scene, list, from, to, node);
  } else if (by_state) state_box(list, from, to, node.state);
  else list->AddRectFilled(from, to, colour);
  if (node.folded) {
    const float size = em() * 0.35F;
    list->AddTriangleFilled({to.x - size * 2, to.y}, {to.x, to.y - size * 2}, to, colours.on_fill);
  }
  if (width < em() * 1.6F) return;
  const bool empty = node.state == NodeState::tombstone || node.state == NodeState::without;
  const ImU32 ink = by_state && empty ? colours.text : ink_on(colour);
  float right = to.x;
  if (node.locks != 0 && width > em() * 4) {
    const float wide = em() * 0.95F + ImGui::CalcTextSize(std::to_string(node.locks).c_str()).x;
    if (by_state && node.state == NodeState::protected_)
      list->AddRectFilled({to.x - wide - em() * 0.15F, (from.y + to.y) / 2 - em() * 0.6F},
                          {to.x - em() * 0.15F, (from.y + to.y) / 2 + em() * 0.6F}, colour);
    lock_mark(list, {to.x, (from.y + to.y) / 2}, node.locks, ink);
    right -= wide;
  }
  const std::string own = grouped(node.own), named = fmt::format("{}  {}", node_name(shown_node.id), own);
  const std::string words =
      first_that_fits({node.chain == 1 ? named : fmt::format("{} in a chain of {}", named, grouped(node.chain)), named,
                       own, ""},  // a number is never cut
                      right - from.x);
  if (by_state && node.state == NodeState::protected_) {
    // A plain background keeps the letters readable.
    const std::string shown = fitted(words, right - from.x - em() * 0.6F);
    if (!shown.empty())
      list->AddRectFilled(
          {from.x + em() * 0.2F, (from.y + to.y) / 2 - em() * 0.6F},
          {from.x + em() * 0.4F + ImGui::CalcTextSize(shown.c_str()).x, (from.y + to.y) / 2 + em() * 0.6F}, colour);
  }
  label(list, from, {right, to.y}, words, ink);
}

ImU32 full_colour(const Scene& scene, const TreeIndex::Mix& mix, std::uint32_t one) {
  const std::uint32_t slot = scene.tree[one].slot;
  if (slot == 0) return palette().line;
  if (scene.selection.colour == ColourBy::tier && scene.shares.known())
    return tier_colour(scene, share_of(scene, scene.tree[one]));
  return scene.selection.colour == ColourBy::state || scene.selection.colour == ColourBy::tier
             ? palette().of(mix.most())
             : colour_of(scene.mirror.node(slot), mix.most(), scene.selection.colour, scene.mirror.tick());
}

}  // namespace

void draw_place(const Scene& scene, ImDrawList* list, ImVec2 from, ImVec2 to, std::uint32_t place) {
  draw_full(scene, list, from, to, place);
  if (is_left_out(scene, place)) list->AddRectFilled(from, to, with_alpha(palette().panel, 0.72F));
}

ImU32 colour_of_many(const Scene& scene, const TreeIndex::Mix& mix, std::uint32_t one) {
  const ImU32 colour = full_colour(scene, mix, one);
  return is_left_out(scene, one) ? mixed(colour, palette().panel, 0.72F) : colour;
}

void tip_of_many(const TreeIndex::Mix& mix, std::size_t count, const char* why) {
  ImGui::BeginTooltip();
  text(plural(count, "sibling") + why);
  dim(fmt::format("including all below: {} tokens in {}", grouped(mix.tokens), plural(mix.nodes, "node")));
  dim(fmt::format("own tokens: evictable {}, protected {}, tombstones {}, without pages {}",
                  grouped(mix.of(NodeState::evictable)), grouped(mix.of(NodeState::protected_)),
                  grouped(mix.of(NodeState::tombstone)), grouped(mix.of(NodeState::without))));
  dim("click: go in");
  ImGui::EndTooltip();
}

void tip_of_place(const Scene& scene, std::uint32_t place) {
  const TreeIndex::Node& node = scene.tree[place];
  ImGui::BeginTooltip();
  if (node.slot == 0) {
    text("namespace " + space_name(scene.mirror, NamespaceId{node.space}));
    dim(fmt::format("{} tokens in {}", grouped(node.tokens), plural(node.nodes, "node")));
  } else {
    const MirrorNode& shown_node = scene.mirror.node(node.slot);
    const MirrorNode& last = scene.mirror.node(node.last);
    text(fmt::format("node {}   {} tokens, depth {} to {}", node_name(shown_node.id), grouped(node.own),
                     grouped(shown_node.begin), grouped(last.end())));
    if (node.chain > 1)
      dim(fmt::format("a chain of {} nodes to {}, each the only child of the previous one", grouped(node.chain),
                      node_name(last.id)));
    dim(fmt::format("including all below: {} tokens in {}", grouped(node.tokens), plural(node.nodes, "node")));
    if (!scene.pools.storage().empty() && scene.shares.known()) dim(stored_words(scene, node));
    if (scene.mirror.is_from_events()) dim("locks, hits and last use are not known from KV events");
    else
      dim(fmt::format("{}, {}, used {} ticks ago", node.locks ? plural(node.locks, "lock") : "no lock",
                      plural(shown_node.uses(), "hit"), grouped(scene.mirror.tick() - shown_node.last_access)));
    dim(node.folded ? "right click: unfold" : last.children ? "double click: go in, right click: fold" : "a leaf");
  }
  ImGui::EndTooltip();
}

std::vector<std::uint32_t> selected_path(const Scene& scene) {
  std::vector<std::uint32_t> path;
  const MirrorNode* node = scene.node();
  if (!node) return path;
  std::uint32_t slot = slot_of(static_cast<NodeId>(node->id));
  while (slot != 0 && scene.tree.place_of(slot) == TreeIndex::kNowhere) slot = scene.mirror.node(slot).parent;
  if (slot == 0) return path;
  for (std::uint32_t place = scene.tree.place_of(slot); place != TreeIndex::kNowhere;
       place = scene.tree.parent_of(place))
    path.push_back(place);
  return path;
}

void outline(ImDrawList* list, ImVec2 from, ImVec2 to, bool itself) {
  const Palette& colours = palette();
  list->AddRect(from, to, itself ? colours.selected : with_alpha(colours.selected, 0.6F), 0, 0,
                em() * (itself ? 0.18F : 0.08F));
}

PlaceClick click_place(Scene& scene, std::uint32_t place, bool click) {
  const TreeIndex::Node& node = scene.tree[place];
  if (node.slot == 0) return {click, 0};
  if (click) scene.selection.select_node(scene.mirror.node(node.slot).id, false);
  return {ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left),
          ImGui::IsMouseClicked(ImGuiMouseButton_Right) ? scene.mirror.node(node.last).id : 0};
}

}  // namespace canopy::inspector
