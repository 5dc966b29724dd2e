#pragma once

#include <string>
#include <vector>

#include "icicle.h"
#include "tree_view.h"

namespace canopy::inspector {

/// The tree as an icicle: width is tokens, a row is a step away from the root.
class IcicleView {
 public:
  /// Draws into the item that was submitted last. Returns the node (its id) to fold or unfold; 0: none.
  std::uint64_t draw(Scene& scene, ImVec2 from, ImVec2 size);
  /// Shows all of the tree again; false if it did so already.
  bool zoom_out();
  void zoom_to(const Scene& scene, std::uint32_t place);
  /// Which part is shown, in words.
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
  /// What is in the middle of the picture, the deepest first, and where the picture's edges are from its beginning, in
  /// tokens: the picture stays with it while the tree changes around it.
  struct Anchor {
    std::uint64_t node = 0;  ///< id; 0: the namespace
    std::uint32_t space = 0;
    double left = 0, right = 0;
  };
  std::vector<Anchor> anchors_;
  bool fits_ = false;  ///< the picture shows fitted_, whatever it grows to
  Anchor fitted_;
  std::uint64_t version_ = 0;  ///< TreeIndex::version of the anchors
  float row_ = 20;
  ImVec2 origin_{};
  IcicleWindow laid_{};
  std::vector<IcicleCell> cells_;
  bool dragged_ = false;
};

}  // namespace canopy::inspector
