#include "icicle_view.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace canopy::inspector {
namespace {

constexpr const char* kTooNarrow = " too narrow to show separately";

}  // namespace

bool IcicleView::zoom_out() {
  const bool was = left_ > 0 || right_ < 1 || top_ > 0;
  left_ = 0, right_ = 1, top_ = 0;
  fits_ = false, anchors_.clear();
  return was;
}

/// Records what is in the middle.
void IcicleView::hold_on(const Scene& scene) {
  constexpr std::size_t kMost = 16;
  const TreeIndex& tree = scene.tree;
  anchors_.clear();
  version_ = tree.version();
  if (left_ <= 0 && right_ >= 1) return;
  const double all = static_cast<double>(tree.tokens()), middle = (left_ + right_) / 2 * all;
  for (std::size_t level = 0; level < tree.levels(); ++level) {
    std::size_t low = tree.begin(level), high = tree.end(level);
    while (low < high) {
      const std::size_t at = low + (high - low) / 2;
      if (static_cast<double>(tree[at].end()) > middle) high = at;
      else low = at + 1;
    }
    if (low == tree.end(level) || static_cast<double>(tree[low].start) > middle) break;
    const double start = static_cast<double>(tree[low].start);
    anchors_.insert(anchors_.begin(), {tree[low].slot ? scene.mirror.node(tree[low].slot).id : 0, tree[low].space,
                                       left_ * all - start, right_ * all - start});
    if (anchors_.size() > kMost) anchors_.pop_back();
  }
}

/// Moves the window after a change of the tree, so that what was in the middle stays there.
void IcicleView::follow(const Scene& scene) {
  const TreeIndex& tree = scene.tree;
  const double all = static_cast<double>(tree.tokens());
  const auto place_of = [&](const Anchor& anchor) -> std::uint32_t {
    if (anchor.node != 0)
      return scene.mirror.find(anchor.node) ? tree.place_of(slot_of(static_cast<NodeId>(anchor.node)))
                                            : TreeIndex::kNowhere;
    for (std::uint32_t place = 0; place < tree.roots().count; ++place)
      if (tree[place].space == anchor.space) return place;
    return TreeIndex::kNowhere;
  };
  if (fits_)
    if (const std::uint32_t place = place_of(fitted_); place != TreeIndex::kNowhere) return zoom_range(tree, place, 1);
  fits_ = false;
  for (const Anchor& anchor : anchors_) {
    const std::uint32_t place = place_of(anchor);
    if (place == TreeIndex::kNowhere) continue;
    const double start = static_cast<double>(tree[place].start);
    left_ = (start + anchor.left) / all, right_ = (start + anchor.right) / all;
    return;
  }
}

void IcicleView::zoom_range(const TreeIndex& tree, std::size_t first, std::size_t count) {
  const double all = static_cast<double>(tree.tokens());
  left_ = static_cast<double>(tree[first].start) / all;
  right_ = static_cast<double>(tree[first + count - 1].end()) / all;
}

void IcicleView::zoom_to(const Scene& scene, std::uint32_t place) {
  const TreeIndex& tree = scene.tree;
  if (tree.tokens() == 0) return;
  zoom_range(tree, place, 1);
  fits_ = true;
  fitted_ = {tree[place].slot ? scene.mirror.node(tree[place].slot).id : 0, tree[place].space, 0, 0};
  top_ = std::max(0.0, static_cast<double>(tree.level_of(place)) - 1);
}

bool IcicleView::middle_of(std::uint32_t place, ImVec2& at) const {
  for (const IcicleCell& cell : cells_)
    if (cell.count == 1 && cell.first == place) {
      at = {origin_.x + (cell.x0 + cell.x1) / 2, origin_.y + row_ * (static_cast<float>(cell.row) + 0.5F)};
      return true;
    }
  return false;
}

std::string IcicleView::scale(const TreeIndex& tree) const {
  const std::string levels = laid_.rows < tree.levels()
                                 ? fmt::format("levels {} to {} of {}, ", laid_.top,
                                               std::min(laid_.top + laid_.rows, tree.levels()) - 1, tree.levels() - 1)
                                 : std::string();
  return levels + (right_ - left_ < 1 ? fmt::format("{:.3g} x, Esc shows all", 1 / (right_ - left_))
                                      : std::string("wheel zooms, drag pans"));
}

std::uint64_t IcicleView::draw(Scene& scene, ImVec2 from, ImVec2 size) {
  origin_ = from;
  const std::uint64_t fold = navigate(scene, size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(from, {from.x + size.x, from.y + size.y}, true);
  for (const IcicleCell& cell : cells_) draw_cell(scene, cell, list);
  draw_counts(list);
  draw_selected(scene, list);
  list->PopClipRect();
  return fold;
}

std::uint64_t IcicleView::navigate(Scene& scene, ImVec2 size) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool hovered = ImGui::IsItemHovered();
  // A shallow tree fills the panel; a deep one is scrolled.
  const float levels = static_cast<float>(std::max<std::size_t>(scene.tree.levels(), 1));
  row_ = std::floor(std::clamp(size.y / levels, em() * 1.5F, em() * 2.6F));
  const double all = static_cast<double>(scene.tree.tokens());
  if (version_ != scene.tree.version()) follow(scene);
  const double span = right_ - left_, left_before = left_;
  if (hovered && io.MouseWheel != 0) {
    if (io.KeyShift || io.KeyCtrl) {
      top_ -= static_cast<double>(io.MouseWheel) * 2;
    } else {
      const double under = left_ + span * static_cast<double>((io.MousePos.x - origin_.x) / size.x);
      // Zooms in until one token is eight pixels wide.
      const double least = std::min(1.0, static_cast<double>(size.x) / all / 8);
      const double next = std::clamp(span * std::pow(0.8, static_cast<double>(io.MouseWheel)), least, 1.0);
      left_ = under - (under - left_) * next / span;
      right_ = left_ + next;
    }
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, em() * 0.4F)) {
    dragged_ = true;
    const double by = -static_cast<double>(io.MouseDelta.x / size.x) * span;
    left_ += by, right_ += by;
    top_ -= static_cast<double>(io.MouseDelta.y / row_);
  }
  if (left_ < 0) right_ -= left_, left_ = 0;
  if (right_ > 1) left_ = std::max(0.0, left_ - (right_ - 1)), right_ = 1;
  if (right_ - left_ != span || left_ != left_before) fits_ = false;
  const double rows = std::floor(static_cast<double>(size.y / row_));
  if (std::exchange(scene.selection.reveal, false))
    if (const std::vector<std::uint32_t> path = selected_path(scene); !path.empty())
      reveal(scene.tree, path.front(), rows);
  top_ = std::clamp(top_, 0.0, std::max(0.0, static_cast<double>(scene.tree.levels()) - rows));

  laid_ = {left_ * all, right_ * all, size.x, static_cast<std::size_t>(top_), static_cast<std::size_t>(rows)};
  lay_out(scene.tree, laid_, cells_);
  hold_on(scene);

  const bool click = ImGui::IsItemDeactivated() && !dragged_;
  if (ImGui::IsItemDeactivated()) dragged_ = false;
  if (!hovered && !click) return 0;
  const float y = io.MousePos.y - origin_.y;
  const IcicleCell* under =
      y < 0 ? nullptr : cell_at(cells_, io.MousePos.x - origin_.x, static_cast<std::uint32_t>(y / row_));
  if (!under) {
    if (click) scene.selection.select_node(0);
    return 0;
  }
  if (under->count > 1) {
    if (!ImGui::IsItemActive()) tip_of_many(scene.tree.mix(under->first, under->count), under->count, kTooNarrow);
    if (click) zoom_range(scene.tree, under->first, under->count), fits_ = false, hold_on(scene);
    return 0;
  }
  if (!ImGui::IsItemActive()) tip_of_place(scene, under->first);
  const PlaceClick clicked = click_place(scene, under->first, click);
  if (clicked.go_in) zoom_to(scene, under->first);
  return clicked.fold;
}

/// Moves the window just far enough to bring a node into sight, wide enough to be seen.
void IcicleView::reveal(const TreeIndex& tree, std::uint32_t place, double rows) {
  const double left_before = left_, right_before = right_;
  const double all = static_cast<double>(tree.tokens());
  const double start = static_cast<double>(tree[place].start) / all, end = static_cast<double>(tree[place].end()) / all;
  const double least = (end - start) * 60;
  if (right_ - left_ > least) {
    const double middle = (start + end) / 2;
    left_ = std::max(0.0, middle - least / 2), right_ = std::min(1.0, middle + least / 2);
  } else if (start < left_ || end > right_) {
    const double span = std::max(right_ - left_, std::min(1.0, (end - start) * 1.2));
    left_ = std::clamp((start + end) / 2 - span / 2, 0.0, 1 - span), right_ = left_ + span;
  }
  if (left_ != left_before || right_ != right_before) fits_ = false;
  const double level = static_cast<double>(tree.level_of(place));
  if (level < top_ || level >= top_ + rows) top_ = std::max(0.0, level - rows / 2);
}

void IcicleView::draw_cell(const Scene& scene, const IcicleCell& cell, ImDrawList* list) const {
  const float top = origin_.y + row_ * static_cast<float>(cell.row);
  const float gutter = cell.x1 - cell.x0 > 4 ? 1.F : 0.F;
  const ImVec2 from{origin_.x + cell.x0, top}, to{origin_.x + cell.x1 - gutter, top + row_ - 1};
  if (cell.count == 1) return draw_place(scene, list, from, to, cell.first);
  // Strips are lower than nodes, so that the two look different.
  const ImU32 colour = colour_of_many(scene, scene.tree.mix(cell.first, cell.count), cell.first + cell.count / 2);
  list->AddRectFilled({from.x, from.y + em() * 0.35F}, {to.x, to.y - em() * 0.15F}, with_alpha(colour, 0.75F));
}

/// Draws one number for neighbouring strips: how many nodes they contain together.
void IcicleView::draw_counts(ImDrawList* list) const {
  for (std::size_t i = 0; i < cells_.size();) {
    if (cells_[i].count == 1) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < cells_.size() && cells_[end].count > 1 && cells_[end].row == cells_[i].row &&
           cells_[end].x0 <= cells_[end - 1].x1 + 1)
      ++end;
    const std::size_t count = cells_[end - 1].first + cells_[end - 1].count - cells_[i].first;
    const float top = origin_.y + row_ * static_cast<float>(cells_[i].row);
    const std::string words = plural(count, "node");
    const float width = ImGui::CalcTextSize(words.c_str()).x + em() * 0.7F;
    if (cells_[end - 1].x1 - cells_[i].x0 > width + em()) {
      const float middle = origin_.x + (cells_[i].x0 + cells_[end - 1].x1) / 2;
      const ImVec2 a{middle - width / 2, top + (row_ - em() * 1.2F) / 2},
          b{middle + width / 2, top + (row_ + em() * 1.2F) / 2};
      list->AddRectFilled(a, b, with_alpha(palette().panel, 0.85F), em() * 0.2F);
      label(list, a, b, words, palette().text, true);
    }
    i = end;
  }
}

void IcicleView::draw_selected(const Scene& scene, ImDrawList* list) const {
  const MirrorNode* node = scene.node();
  if (!node) return;
  const std::uint32_t own = scene.tree.place_of(slot_of(static_cast<NodeId>(node->id)));
  const double scale = static_cast<double>(laid_.width) / (laid_.right - laid_.left);
  for (const std::uint32_t place : selected_path(scene)) {
    const std::size_t level = scene.tree.level_of(place);
    const TreeIndex::Node& drawn = scene.tree[place];
    if (drawn.slot == 0 || level < laid_.top) break;
    if (level >= laid_.top + laid_.rows) continue;
    const auto x_of = [&](std::uint64_t token) {
      const double x = (static_cast<double>(token) - laid_.left) * scale;
      return origin_.x + static_cast<float>(std::clamp(x, -4.0, static_cast<double>(laid_.width) + 4));
    };
    const float top = origin_.y + row_ * static_cast<float>(level - laid_.top);
    const ImVec2 from{x_of(drawn.start), top};
    outline(list, from, {std::max(x_of(drawn.end()) - 1, from.x + 3), top + row_ - 1}, place == own);
  }
}

}  // namespace canopy::inspector
