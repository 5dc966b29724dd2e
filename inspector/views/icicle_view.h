#pragma once

#include <string>
#include <vector>

#include "icicle.h"
#include "tree_view.h"

namespace canopy::inspector {

/// The tree as an icicle: width is tokens, and each row is one step further from the root.
class IcicleView {
 public:
  /// Draws into the last submitted item. Returns the id of the node to fold or unfold; 0: none.
  std::uint64_t draw(Scene& scene, ImVec2 from, ImVec2 size);
  /// Shows the whole tree again. Returns false if it already did.
  bool zoom_out();
  void zoom_to(const Scene& scene, std::uint32_t place);
  /// Returns a description of the visible part.
  std::string scale(const TreeIndex& tree) const;

  const std::vector<IcicleCell>& cells() const { return cells_; }
  bool middle_of(std::uint32_t place, ImVec2& at) const;

 private:
  std::uint64_t navigate(Scene& scene, ImVec2 size);
  void reveal(const TreeIndex& tree, std::uint32_t place, double rows);
  void zoom_range(const TreeIndex& tree, std::size_t first, std::size_t count);
  void hold_on(const Scene& scene);
  void follow(const Scene& scene);
  void draw_cell(const Scene& scene, const IcicleCell& cell, ImDrawList* list) const;
  void draw_counts(ImDrawList* list) const;
  void draw_selected(const Scene& scene, ImDrawList* list) const;

  double left_ = 0, right_ = 1;  ///< shares of all tokens
  double top_ = 0;               ///< levels
  /// A node in the middle of the picture, and the distances in tokens from its beginning to the picture's edges: the
  /// picture stays with it while the tree changes. Anchors are ordered deepest first.
  struct Anchor {
    std::uint64_t node = 0;  ///< id; 0: the namespace
    std::uint32_t space = 0;
    double left = 0, right = 0;
  };
  std::vector<Anchor> anchors_;
  bool fits_ = false;  ///< true if the picture shows all of fitted_, however it grows
  Anchor fitted_;
  std::uint64_t version_ = 0;  ///< TreeIndex::version for which the anchors are valid
  float row_ = 20;
  ImVec2 origin_{};
  IcicleWindow laid_{};
  std::vector<IcicleCell> cells_;
  bool dragged_ = false;
};

}  // namespace canopy::inspector
