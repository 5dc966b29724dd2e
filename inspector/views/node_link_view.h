#pragma once

#include <string>
#include <vector>

#include "node_link.h"
#include "tree_view.h"

namespace canopy::inspector {

/// The tree as nodes and links, from left to right. A box is a node; the more tokens in its subtree, the thicker its
/// link. Zooming in gives the tree more lines of text than the panel has, so that bundles come apart; going in shows
/// only one subtree.
class NodeLinkView {
 public:
  /// Draws into the last submitted item. Returns the id of the node to fold or unfold; 0: none.
  std::uint64_t draw(Scene& scene, ImVec2 from, ImVec2 size);
  /// Shows the whole tree again. Returns false if it already did.
  bool zoom_out();
  void zoom_to(const Scene& scene, std::uint32_t place);
  /// Returns a description of the visible part.
  std::string scale(const Scene& scene) const;

  const std::vector<NodeLinkItem>& items() const { return items_; }
  bool middle_of(std::uint32_t place, ImVec2& at) const;

  static constexpr std::uint32_t kMostRows = 4096;

 private:
  struct Box {
    ImVec2 from, to;
    std::uint32_t item = 0;
  };
  /// The input for which the items were laid out.
  struct Laid {
    std::uint64_t version = 0;
    std::uint32_t focus = 0, rows = 0;
    std::vector<std::uint32_t> path;
    friend bool operator==(const Laid&, const Laid&) = default;
  };
  std::uint64_t navigate(Scene& scene);
  std::uint64_t point_at(Scene& scene);
  void lay_out_again(const Scene& scene);
  void reveal(const Scene& scene);
  void keep_in_sight();
  std::uint32_t focus_place(const Scene& scene) const;
  std::uint32_t item_of(std::uint32_t place) const;
  const Box* near(ImVec2 point) const;
  float middle(const NodeLinkItem& item) const;
  float least_row() const;
  void place_boxes();
  void draw_links(const Scene& scene, ImDrawList* list);
  void draw_box(const Scene& scene, const Box& box, ImDrawList* list) const;

  std::uint64_t focus_ = 0;                          ///< id of the node whose subtree is shown; 0: see focus_space_
  std::uint32_t focus_space_ = TreeIndex::kNowhere;  ///< namespace that is shown; kNowhere: all
  float zoom_ = 1;                                   ///< lines of the tree per line of the panel
  float left_ = 0, top_ = 0;                         ///< pixels
  float row_ = 20, column_ = 100;                    ///< pixels
  ImVec2 origin_{}, size_{};
  Laid laid_;
  std::uint32_t rows_ = 0, columns_ = 0;  ///< rows and columns that the items use
  std::vector<NodeLinkItem> items_;
  std::vector<Box> boxes_;      ///< boxes in sight
  std::vector<ImVec2> trunks_;  ///< range in which links to an item's children leave it, by item
  bool dragged_ = false;
};

}  // namespace canopy::inspector
