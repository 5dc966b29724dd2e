#include "node_link_view.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace canopy::inspector {
namespace {

constexpr const char* kNoRow = " for which there is no row";

float link_room() { return em() * 2.2F; }
/// Returns the colour of links, the same for every state.
ImU32 link_colour() { return mixed(palette().line, palette().dim, 0.6F); }

}  // namespace

bool NodeLinkView::zoom_out() {
  const bool was = focus_ != 0 || focus_space_ != TreeIndex::kNowhere || zoom_ > 1 || left_ > 0 || top_ > 0;
  focus_ = 0, focus_space_ = TreeIndex::kNowhere, zoom_ = 1, left_ = top_ = 0;
  return was;
}

void NodeLinkView::zoom_to(const Scene& scene, std::uint32_t place) {
  zoom_out();
  // A leaf by itself would not show its position, so its parent becomes the focus.
  if (scene.tree.children(place).count == 0) place = scene.tree.parent_of(place);
  if (place == TreeIndex::kNowhere) return;
  const TreeIndex::Node& node = scene.tree[place];
  if (node.slot == 0) focus_space_ = node.space;
  else focus_ = scene.mirror.node(node.slot).id;
}

std::uint32_t NodeLinkView::focus_place(const Scene& scene) const {
  if (focus_ != 0)
    return scene.mirror.find(focus_) ? scene.tree.place_of(slot_of(static_cast<NodeId>(focus_))) : TreeIndex::kNowhere;
  if (focus_space_ == TreeIndex::kNowhere) return TreeIndex::kNowhere;
  for (std::uint32_t place = 0; place < scene.tree.roots().count; ++place)
    if (scene.tree[place].space == focus_space_) return place;
  return TreeIndex::kNowhere;
}

std::string NodeLinkView::scale(const Scene& scene) const {
  const std::uint32_t focus = focus_place(scene);
  std::string words;
  if (focus != TreeIndex::kNowhere && focus_ != 0) words = fmt::format("from {} on, ", node_name(focus_));
  if (zoom_ > 1) words += fmt::format("{:.3g} x, ", zoom_);
  return words.empty() && focus == TreeIndex::kNowhere && left_ == 0 ? "wheel zooms, drag pans"
                                                                     : words + "Esc shows all";
}

bool NodeLinkView::middle_of(std::uint32_t place, ImVec2& at) const {
  for (const Box& box : boxes_)
    if (const NodeLinkItem& item = items_[box.item]; item.bundled == 0 && item.place == place) {
      at = {(box.from.x + box.to.x) / 2, (box.from.y + box.to.y) / 2};
      return true;
    }
  return false;
}

float NodeLinkView::least_row() const { return std::round(em() * 1.5F); }

/// Returns the middle of an item's rows, or the visible point nearest to it: a parent stays beside its children.
float NodeLinkView::middle(const NodeLinkItem& item) const {
  const float y0 = static_cast<float>(item.row) * row_ - top_, y1 = y0 + static_cast<float>(item.rows) * row_;
  const float low = std::max(y0, 0.F) + row_ / 2, high = std::min(y1, size_.y) - row_ / 2;
  if (low > high) return y0 < 0 ? y1 - row_ / 2 : y0 + row_ / 2;
  return std::clamp((y0 + y1) / 2, low, high);
}

std::uint32_t NodeLinkView::item_of(std::uint32_t place) const {
  const auto found = std::find_if(items_.begin(), items_.end(),
                                  [&](const NodeLinkItem& item) { return item.bundled == 0 && item.place == place; });
  return found == items_.end() ? NodeLinkItem::kNone : static_cast<std::uint32_t>(found - items_.begin());
}

const NodeLinkView::Box* NodeLinkView::near(ImVec2 point) const {
  const auto far = [&](const Box& box) {
    const float x = std::max({box.from.x - point.x, point.x - box.to.x, 0.F});
    return std::abs((box.from.y + box.to.y) / 2 - point.y) + x;
  };
  const auto found =
      std::min_element(boxes_.begin(), boxes_.end(), [&](const Box& a, const Box& b) { return far(a) < far(b); });
  return found == boxes_.end() ? nullptr : &*found;
}

std::uint64_t NodeLinkView::draw(Scene& scene, ImVec2 from, ImVec2 size) {
  origin_ = from, size_ = size;
  lay_out_again(scene);
  if (std::exchange(scene.selection.reveal, false)) reveal(scene);
  const std::uint64_t fold = navigate(scene);
  place_boxes();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(from, {from.x + size.x, from.y + size.y}, true);
  draw_links(scene, list);
  for (const Box& box : boxes_) draw_box(scene, box, list);
  list->PopClipRect();
  return fold;
}

void NodeLinkView::lay_out_again(const Scene& scene) {
  const float lines = std::max(1.F, std::floor(size_.y / least_row()));
  zoom_ = std::clamp(zoom_, 1.F, std::max(1.F, static_cast<float>(kMostRows) / lines));
  Laid wanted{scene.tree.version(), focus_place(scene),
              static_cast<std::uint32_t>(std::clamp(lines * zoom_, 1.F, static_cast<float>(kMostRows))),
              selected_path(scene)};
  if (wanted != laid_) {
    laid_ = std::move(wanted);
    lay_out(scene.tree, {laid_.focus, laid_.rows, laid_.path}, items_);
    rows_ = columns_ = 0;
    for (const NodeLinkItem& item : items_) {
      rows_ = std::max(rows_, item.row + item.rows);
      columns_ = std::max(columns_, item.column + 1);
    }
  }
  // A small tree fills the panel; a large one is scrolled.
  row_ = std::floor(std::clamp(size_.y / static_cast<float>(std::max(rows_, 1U)), least_row(), em() * 2.6F));
  column_ = std::floor(
      std::clamp((size_.x + link_room()) / static_cast<float>(std::max(columns_, 1U)), em() * 12.5F, em() * 20));
  keep_in_sight();
}

void NodeLinkView::keep_in_sight() {
  top_ = std::clamp(top_, 0.F, std::max(0.F, static_cast<float>(rows_) * row_ - size_.y));
  left_ = std::clamp(left_, 0.F, std::max(0.F, static_cast<float>(columns_) * column_ - link_room() - size_.x));
}

/// Goes in only if the selected node would otherwise have no box.
void NodeLinkView::reveal(const Scene& scene) {
  if (laid_.path.empty()) return;
  const std::uint32_t place = laid_.path.front();
  if (item_of(place) == NodeLinkItem::kNone) {
    focus_ = 0, focus_space_ = TreeIndex::kNowhere;
    lay_out_again(scene);
  }
  if (item_of(place) == NodeLinkItem::kNone) {
    if (const std::uint32_t parent = scene.tree.parent_of(place); parent != TreeIndex::kNowhere) zoom_to(scene, parent);
    lay_out_again(scene);
  }
  const std::uint32_t found = item_of(place);
  if (found == NodeLinkItem::kNone) return;
  const NodeLinkItem& item = items_[found];
  const float y = (static_cast<float>(item.row) + static_cast<float>(item.rows) / 2) * row_;
  const float x = static_cast<float>(item.column) * column_;
  if (y - row_ / 2 < top_ || y + row_ / 2 > top_ + size_.y) top_ = y - size_.y / 2;
  if (x < left_ || x + column_ - link_room() > left_ + size_.x) left_ = x - (size_.x - column_) / 2;
  keep_in_sight();
}

std::uint64_t NodeLinkView::navigate(Scene& scene) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool hovered = ImGui::IsItemHovered();
  if (hovered && io.MouseWheel != 0) {
    if (io.KeyShift || io.KeyCtrl) {
      top_ -= io.MouseWheel * 2 * row_;
    } else {
      // Keeps what is under the mouse in its place.
      place_boxes();
      const Box* box = near(io.MousePos);
      const std::uint32_t place = box ? items_[box->item].place : 0;
      const float y = box ? (box->from.y + box->to.y) / 2 - origin_.y : 0;
      zoom_ *= std::pow(1.25F, io.MouseWheel);
      if (zoom_ < 1.05F) zoom_ = 1;
      lay_out_again(scene);
      if (const std::uint32_t item = box ? item_of(place) : NodeLinkItem::kNone; item != NodeLinkItem::kNone)
        top_ = (static_cast<float>(items_[item].row) + static_cast<float>(items_[item].rows) / 2) * row_ - y;
    }
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, em() * 0.4F)) {
    dragged_ = true;
    left_ -= io.MouseDelta.x;
    top_ -= io.MouseDelta.y;
  }
  keep_in_sight();
  place_boxes();
  return hovered || ImGui::IsItemDeactivated() ? point_at(scene) : 0;
}

std::uint64_t NodeLinkView::point_at(Scene& scene) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool click = ImGui::IsItemDeactivated() && !dragged_;
  if (ImGui::IsItemDeactivated()) dragged_ = false;
  const auto under = std::find_if(boxes_.begin(), boxes_.end(), [&](const Box& box) {
    return mouse.x >= box.from.x && mouse.x < box.to.x && mouse.y >= box.from.y && mouse.y < box.to.y;
  });
  if (under == boxes_.end()) {
    if (click) scene.selection.select_node(0);
    return 0;
  }
  const NodeLinkItem& item = items_[under->item];
  if (item.bundled != 0) {
    if (!ImGui::IsItemActive()) tip_of_many(item.mix, item.bundled, kNoRow);
    if (!click) return 0;
    const std::uint32_t parent = item.parent == NodeLinkItem::kNone ? TreeIndex::kNowhere : items_[item.parent].place;
    if (parent != laid_.focus) zoom_to(scene, parent);
    else zoom_ *= 2;
    lay_out_again(scene);
    return 0;
  }
  if (!ImGui::IsItemActive()) tip_of_place(scene, item.place);
  const PlaceClick clicked = click_place(scene, item.place, click);
  if (clicked.go_in) zoom_to(scene, item.place);
  return clicked.fold;
}

void NodeLinkView::place_boxes() {
  boxes_.clear();
  const float height = std::floor(row_ * 0.86F);
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    const NodeLinkItem& item = items_[i];
    const float y0 = static_cast<float>(item.row) * row_ - top_, y1 = y0 + static_cast<float>(item.rows) * row_;
    const float x = static_cast<float>(item.column) * column_ - left_;
    if (y1 <= 0 || y0 >= size_.y || x >= size_.x || x + column_ <= 0) continue;
    const ImVec2 from{origin_.x + x, origin_.y + std::round(middle(item) - height / 2)};
    boxes_.push_back({from, {from.x + column_ - link_room(), from.y + height}, i});
  }
}

void NodeLinkView::draw_links(const Scene& scene, ImDrawList* list) {
  const float line = std::max(1.F, std::round(em() / 14));
  const double all = static_cast<double>(std::max<std::uint64_t>(scene.tree.tokens(), 1));
  const auto x_of = [&](std::uint32_t column) { return origin_.x + static_cast<float>(column) * column_ - left_; };
  trunks_.assign(items_.size(), {size_.y + row_, -row_});
  for (const NodeLinkItem& item : items_) {
    if (item.parent == NodeLinkItem::kNone) continue;
    ImVec2& trunk = trunks_[item.parent];
    const float y = std::clamp(middle(item), -row_, size_.y + row_);
    trunk = {std::min(trunk.x, y), std::max(trunk.y, y)};
  }
  const auto on_path = [&](const NodeLinkItem& item) {
    return item.bundled == 0 && std::binary_search(laid_.path.begin(), laid_.path.end(), item.place, std::greater<>());
  };
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    if (trunks_[i].y < trunks_[i].x) continue;  // a leaf
    const float y = middle(items_[i]), right = std::round(x_of(items_[i].column + 1) - link_room());
    const float x = std::round(right + link_room() * 0.4F);
    if (right > origin_.x + size_.x || x_of(items_[i].column + 2) < origin_.x) continue;
    const float from = std::round(origin_.y + std::min(trunks_[i].x, y)),
                to = std::round(origin_.y + std::max(trunks_[i].y, y)) + line;
    list->AddRectFilled({x, from}, {x + line, to}, link_colour());
    if (y > -row_ && y < size_.y + row_)
      list->AddRectFilled({right, std::round(origin_.y + y)}, {x, std::round(origin_.y + y) + line}, link_colour());
  }
  for (const Box& box : boxes_) {
    const NodeLinkItem& item = items_[box.item];
    if (item.parent == NodeLinkItem::kNone) continue;
    const float share = static_cast<float>(std::sqrt(static_cast<double>(item.mix.tokens) / all));
    const float thick = std::max(line, std::round(share * em() * 0.55F));
    const float left = std::round(box.from.x - link_room() * 0.6F), y = std::round((box.from.y + box.to.y) / 2);
    const bool selected = on_path(item);
    const ImU32 colour = selected ? palette().selected : link_colour();
    list->AddRectFilled({left, y - std::floor(thick / 2)}, {box.from.x, y - std::floor(thick / 2) + thick}, colour);
    if (!selected) continue;
    const float up = std::round(origin_.y + middle(items_[item.parent]));
    list->AddRectFilled({left, std::min(y, up)}, {left + line, std::max(y, up) + line}, colour);
    list->AddRectFilled({std::round(left - link_room() * 0.4F), up}, {left, up + line}, colour);
  }
}

void NodeLinkView::draw_box(const Scene& scene, const Box& box, ImDrawList* list) const {
  const NodeLinkItem& item = items_[box.item];
  if (item.bundled == 0) {
    draw_place(scene, list, box.from, box.to, item.place);
    if (std::binary_search(laid_.path.begin(), laid_.path.end(), item.place, std::greater<>()))
      outline(list, box.from, box.to,
              scene.tree.place_of(slot_of(static_cast<NodeId>(scene.selection.node))) == item.place);
    return;
  }
  // Draws a pile of three instead of one box, so that it does not look like a node.
  const bool spaces = scene.tree[item.place].slot == 0;
  const ImU32 colour = spaces ? link_colour() : colour_of_many(scene, item.mix, item.place);
  const float slice = std::round(em() * 0.28F), gap = std::max(1.F, std::round(em() * 0.1F)), inset = em() * 0.2F;
  float x = box.from.x;
  for (const float shade : {1.F, 0.75F, 0.5F}) {
    list->AddRectFilled({x, box.from.y + inset}, {x + slice, box.to.y - inset}, with_alpha(colour, shade));
    x += slice + gap;
  }
  const std::uint64_t number = spaces ? item.bundled : item.mix.nodes;
  const std::string count = plural(number, spaces ? "namespace" : "node");
  // A bundle has the row to itself: nothing else is drawn to the right of it.
  const float right = origin_.x + size_.x;
  label(list, {x, box.from.y}, {right, box.to.y},
        first_that_fits({fmt::format("{}, {} tokens", count, brief(static_cast<double>(item.mix.tokens))), count,
                         brief(static_cast<double>(number))},
                        right - x),
        palette().text);
}

}  // namespace canopy::inspector
