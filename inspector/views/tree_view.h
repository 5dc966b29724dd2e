#pragma once

#include <array>
#include <vector>

#include "draw.h"
#include "scene.h"

namespace canopy::inspector {

/// How the tree is drawn.
enum class TreeView : std::uint8_t { icicle, nodes };
inline constexpr std::array<const char*, 2> kTreeViewNames = {"icicle", "nodes"};

/// What both views draw and say in the same way.

/// Draws a place in its box. A node has its colour and pattern, and its name, tokens, locks and fold mark as far as the
/// box has room for them; a namespace has its name and sums.
void draw_place(const Scene& scene, ImDrawList* list, ImVec2 from, ImVec2 to, std::uint32_t place);
/// The colour of a box that stands for many nodes: of the state that most of their own tokens are in, or of one node.
ImU32 colour_of_many(const Scene& scene, const TreeIndex::Mix& mix, std::uint32_t one);

/// The tooltip of a place, and of siblings drawn as one box; `why` says why they are one.
void tell_place(const Scene& scene, std::uint32_t place);
void tell_many(const TreeIndex::Mix& mix, std::size_t count, const char* why);

/// Places of the selected node and of all above it, its own first. If it is below a folded node, from that node on.
std::vector<std::uint32_t> selected_path(const Scene& scene);
/// The line around a place of that path.
void outline(ImDrawList* list, ImVec2 from, ImVec2 to, bool itself);

/// Does what a click on a place means in either view: select or go in. Returns the id of a node to fold; 0: none.
/// REQUIRES: the mouse is on the place.
struct PlaceClick {
  bool go_in = false;
  std::uint64_t fold = 0;
};
PlaceClick click_place(Scene& scene, std::uint32_t place, bool click);

}  // namespace canopy::inspector
