#pragma once

#include <array>
#include <unordered_set>

#include "icicle_view.h"
#include "node_link_view.h"
#include "panel.h"
#include "tree_search.h"

namespace canopy::inspector {

/// The tree, as an icicle or as nodes and links: its bar, its search, its folded nodes, and its legend.
class TreePanel final : public Panel {
 public:
  void draw(Scene& scene) override;
  TreeView view() const { return view_; }
  void show(TreeView view) { view_ = view; }

  void focus_search() { search_wanted_ = true; }
  /// Shows the next or the previous search result. Returns false if there is no other.
  bool step_search(Scene& scene, bool back = false);
  const TreeSearch& search() const { return search_; }

  /// Goes one step back: clears the search results, then shows the whole tree again. Returns false if there is nothing
  /// to go back from.
  bool back();
  void zoom_to(const Scene& scene, std::uint32_t place);
  void fold(const Mirror& mirror, std::uint64_t node_id);
  const std::unordered_set<std::uint64_t>& folded() const { return folded_; }

  const IcicleView& icicle() const { return icicle_; }
  const NodeLinkView& nodes() const { return nodes_; }
  /// Gets the middle, on the screen, of a node's box. Returns false if it has no box of its own.
  bool middle_of(const TreeIndex& tree, std::uint64_t node_id, ImVec2& at) const;

 private:
  void draw_bar(Scene& scene);
  void find(Scene& scene);
  void draw_found();
  void show_hit(Scene& scene);
  bool unfold_selected(const Scene& scene);
  void draw_foot(const Scene& scene);

  TreeView view_ = TreeView::icicle;
  IcicleView icicle_;
  NodeLinkView nodes_;
  std::unordered_set<std::uint64_t> folded_;
  std::array<char, 1 << 14> wanted_{};  ///< text being typed; a pasted prompt may be long
  TreeSearch search_;
  bool search_wanted_ = false;
};

}  // namespace canopy::inspector
