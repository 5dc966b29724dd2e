#pragma once

#include <array>
#include <vector>

#include "draw.h"
#include "scene.h"

namespace canopy::inspector {

/// How the tree is drawn.
enum class TreeView : std::uint8_t { icicle, nodes };
inline constexpr std::array<const char*, 2> kTreeViewNames = {"icicle", "nodes"};

/// What both views draw and say alike.

/// A place in its box: a node in its colour and pattern, with its name, tokens, locks and whether it is folded, as far
/// as the box has room for them; a namespace with its name and sums.
void draw_place(const Scene& scene, ImDrawList* list, ImVec2 from, ImVec2 to, std::uint32_t place);
/// The colour of what stands for many: of the state that most of their own tokens are in, or of one of them.
ImU32 colour_of_many(const Scene& scene, const TreeIndex::Mix& mix, std::uint32_t one);

/// What hovering says of a place, and of siblings drawn as one, `why` they are.
void tell_place(const Scene& scene, std::uint32_t place);
void tell_many(const TreeIndex::Mix& mix, std::size_t count, const char* why);

/// Places of the selected node and of all above it, its own first; of a node below a folded one, from that one on.
std::vector<std::uint32_t> selected_path(const Scene& scene);
/// The line around a place of it.
void outline(ImDrawList* list, ImVec2 from, ImVec2 to, bool itself);

/// What a click on a place means in either view: select, go in, or (as the id that is returned) fold. REQUIRES: the
/// mouse is on the place.
struct PlaceClick {
  bool go_in = false;
  std::uint64_t fold = 0;
};
PlaceClick click_place(Scene& scene, std::uint32_t place, bool click);

}  // namespace canopy::inspector
