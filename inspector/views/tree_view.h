#pragma once

#include <array>
#include <vector>

#include "draw.h"
#include "scene.h"

namespace canopy::inspector {

/// The two ways to draw the tree.
enum class TreeView : std::uint8_t { icicle, nodes };
inline constexpr std::array<const char*, 2> kTreeViewNames = {"icicle", "nodes"};

/// Functions that both views share.

/// Draws a place in its box. A node has its colour and pattern, and as many of name, tokens, locks and fold mark as
/// fit; a namespace has its name and sums.
void draw_place(const Scene& scene, ImDrawList* list, ImVec2 from, ImVec2 to, std::uint32_t place);
/// Returns the colour of a box for many nodes: that of the state with most of their own tokens, or that of one node.
ImU32 colour_of_many(const Scene& scene, const TreeIndex::Mix& mix, std::uint32_t one);

/// Shows the tooltip of a place; tip_of_many() shows that of siblings drawn as one box, with the reason `why` they are
/// one.
void tip_of_place(const Scene& scene, std::uint32_t place);
void tip_of_many(const TreeIndex::Mix& mix, std::size_t count, const char* why);

/// Returns the places of the selected node and of all nodes above it, deepest first. If the node is below a folded
/// node, the path starts at the folded one.
std::vector<std::uint32_t> selected_path(const Scene& scene);
/// Draws the line around a place of that path.
void outline(ImDrawList* list, ImVec2 from, ImVec2 to, bool itself);

/// Handles a click on a place, in either view: selects it or goes in. Returns the id of a node to fold; 0: none.
/// REQUIRES: the mouse is on the place.
struct PlaceClick {
  bool go_in = false;
  std::uint64_t fold = 0;
};
PlaceClick click_place(Scene& scene, std::uint32_t place, bool click);

}  // namespace canopy::inspector
