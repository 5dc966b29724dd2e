#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "figures.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// A padlock, and how many hold it.
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

}  // namespace

bool TreePanel::zoom_out() {
  const bool was = left_ > 0 || right_ < 1 || top_ > 0;
  left_ = 0, right_ = 1, top_ = 0;
  return was;
}

void TreePanel::zoom_to(const TreeIndex& tree, std::uint64_t node_id) {
  const std::uint32_t place = static_cast<std::uint32_t>(tree.place_of(slot_of(static_cast<NodeId>(node_id))));
  if (place == TreeIndex::kNowhere || tree.tokens() == 0) return;
  const double all = static_cast<double>(tree.tokens());
  left_ = static_cast<double>(tree[place].start) / all;
  right_ = static_cast<double>(tree[place].end()) / all;
  top_ = std::max(0.0, static_cast<double>(tree.level_of(place)) - 1);
}

void TreePanel::fold(const Mirror& mirror, std::uint64_t node_id) {
  if (folded_.erase(node_id) == 0 && mirror.find(node_id)) folded_.insert(node_id);
  std::erase_if(folded_, [&](std::uint64_t id) { return !mirror.find(id); });
}

bool TreePanel::middle_of(const TreeIndex& tree, std::uint64_t node_id, ImVec2& at) const {
  const std::size_t place = tree.place_of(slot_of(static_cast<NodeId>(node_id)));
  for (const IcicleCell& cell : cells_)
    if (cell.count == 1 && cell.first == place) {
      at = {origin_.x + (cell.x0 + cell.x1) / 2, origin_.y + row_ * (static_cast<float>(cell.row) + 0.5F)};
      return true;
    }
  return false;
}

void TreePanel::draw(Scene& scene, const Area& area) {
  begin_panel("TREE", area);
  draw_bar(scene);
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float legend = ImGui::GetTextLineHeightWithSpacing();
  const ImVec2 size{room.x, room.y - legend};
  if (scene.tree.tokens() == 0) {
    const Notice notice = notice_of(scene.session, scene.mirror);
    nothing_here(notice.what.empty() ? "Nothing is cached yet. The first request that commits tokens plants the tree."
                                     : notice.what + "\n\n" + notice.next);
    end_panel();
    return;
  }
  if (size.x > em() && size.y > em()) {
    ImGui::InvisibleButton("icicle", size);
    navigate(scene, from, size, ImGui::IsItemHovered());
    draw_cells(scene, from, size);
  }
  ImGui::SetCursorScreenPos({from.x, from.y + size.y + ImGui::GetStyle().ItemSpacing.y});
  colour_legend(scene.selection.colour, scene.mirror);
  std::string scale =
      laid_.rows < scene.tree.levels()
          ? fmt::format("levels {} to {} of {}, ", laid_.top, std::min(laid_.top + laid_.rows, scene.tree.levels()) - 1,
                        scene.tree.levels() - 1)
          : std::string();
  scale += right_ - left_ < 1 ? fmt::format("{:.3g} x, Esc shows all", 1 / (right_ - left_))
                              : std::string("wheel zooms, drag pans");
  const float width = ImGui::CalcTextSize(scale.c_str()).x;
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x > width) {
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - width);
    dim(scale);
  }
  end_panel();
}

void TreePanel::draw_bar(Scene& scene) {
  ImGui::SameLine(0, em() * 1.5F);
  dim("colour");
  for (std::size_t i = 0; i < kColourNames.size(); ++i) {
    ImGui::SameLine(0, em() * 0.4F);
    if (choice(kColourNames[i], scene.selection.colour == static_cast<ColourBy>(i)))
      scene.selection.colour = static_cast<ColourBy>(i);
  }
  ImGui::SameLine(0, em() * 1.5F);
  const float width = std::min(em() * 15, ImGui::GetContentRegionAvail().x);
  if (width < em() * 6) return;
  ImGui::SetNextItemWidth(width);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, 0});
  if (std::exchange(search_wanted_, false)) ImGui::SetKeyboardFocusHere();
  if (ImGui::InputTextWithHint("##find", "/ find #12, r 4711, a namespace", search_, sizeof(search_),
                               ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll))
    find(scene);
  ImGui::PopStyleVar();
  if (!not_found_.empty()) {
    explain(not_found_);
    ImGui::SameLine();
    text(fitted(not_found_, ImGui::GetContentRegionAvail().x), palette().bad);
  }
}

void TreePanel::find(Scene& scene) {
  not_found_.clear();
  const std::string_view wanted(search_);
  if (wanted.empty()) return;
  if (std::uint64_t request = 0; parse_request_name(wanted, request)) {
    const std::uint64_t begun = scene.time.begun ? scene.time.begun(request) : 0;
    const MirrorRequest* known = scene.mirror.request(request);
    if (begun == 0 && !known) {
      not_found_ = fmt::format("no request {} {}", request, scene.time.seekable ? "in this recording" : "remembered");
      return;
    }
    if (begun != 0) scene.time.seek(begun);
    scene.selection.request_wanted = request;
    return;
  }
  std::uint32_t slot = 0, life = 0;
  if (parse_node_name(wanted, slot, life)) {
    if (slot < scene.mirror.slots() && scene.mirror.node(slot).id != 0 &&
        (life == 0 || life == life_of(scene.mirror.node(slot).id))) {
      scene.selection.select_node(scene.mirror.node(slot).id);
      return;
    }
    not_found_ = fmt::format("no node {} now", wanted);
    return;
  }
  for (std::size_t place = 0; scene.tree.levels() > 0 && place < scene.tree.end(0); ++place) {
    if (space_name(scene.mirror, NamespaceId{scene.tree[place].space}).find(wanted) == std::string::npos) continue;
    const double all = static_cast<double>(scene.tree.tokens());
    left_ = static_cast<double>(scene.tree[place].start) / all;
    right_ = static_cast<double>(scene.tree[place].end()) / all;
    top_ = 0;
    return;
  }
  not_found_ = fmt::format("no namespace with '{}'", wanted);
}

void TreePanel::navigate(Scene& scene, ImVec2 from, ImVec2 size, bool hovered) {
  ImGuiIO& io = ImGui::GetIO();
  origin_ = from;
  // A shallow tree fills the panel; a deep one is scrolled.
  const float levels = static_cast<float>(std::max<std::size_t>(scene.tree.levels(), 1));
  row_ = std::floor(std::clamp(size.y / levels, em() * 1.5F, em() * 2.6F));
  const double all = static_cast<double>(scene.tree.tokens());
  const double span = right_ - left_;
  if (hovered && io.MouseWheel != 0) {
    if (io.KeyShift || io.KeyCtrl) {
      top_ -= static_cast<double>(io.MouseWheel) * 2;
    } else {
      const double under = left_ + span * static_cast<double>((io.MousePos.x - from.x) / size.x);
      // No further in than a pixel a token.
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
  const double rows = std::floor(static_cast<double>(size.y / row_));
  if (std::exchange(scene.selection.reveal, false))
    if (const std::size_t place = scene.tree.place_of(slot_of(static_cast<NodeId>(scene.selection.node)));
        place != TreeIndex::kNowhere) {
      laid_.rows = static_cast<std::size_t>(rows);
      reveal(scene.tree, static_cast<std::uint32_t>(place));
    }
  top_ = std::clamp(top_, 0.0, std::max(0.0, static_cast<double>(scene.tree.levels()) - rows));

  laid_ = {left_ * all, right_ * all, size.x, static_cast<std::size_t>(top_), static_cast<std::size_t>(rows)};
  lay_out(scene.tree, laid_, cells_);

  const bool click = ImGui::IsItemDeactivated() && !dragged_;
  if (ImGui::IsItemDeactivated()) dragged_ = false;
  if (!hovered && !click) return;
  const float y = io.MousePos.y - from.y;
  const IcicleCell* under =
      y < 0 ? nullptr : cell_at(cells_, io.MousePos.x - from.x, static_cast<std::uint32_t>(y / row_));
  if (!under) {
    if (click) scene.selection.select_node(0);
    return;
  }
  if (!ImGui::IsItemActive()) tell(scene, *under);
  const TreeIndex::Node& node = scene.tree[under->first];
  const auto zoom_range = [&](const IcicleCell& cell) {
    left_ = static_cast<double>(scene.tree[cell.first].start) / all;
    right_ = static_cast<double>(scene.tree[cell.first + cell.count - 1].end()) / all;
  };
  if (under->count > 1 || node.slot == 0) {
    if (click) zoom_range(*under);
    return;
  }
  const std::uint64_t id = scene.mirror.node(node.slot).id;
  if (click) scene.selection.select_node(id, false);
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) zoom_to(scene.tree, id);
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) fold(scene.mirror, scene.mirror.node(node.last).id);
}

/// Moves as little as brings a node into sight, wide enough to be seen.
void TreePanel::reveal(const TreeIndex& tree, std::uint32_t place) {
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
  const double level = static_cast<double>(tree.level_of(place));
  const double rows = static_cast<double>(laid_.rows);
  if (level < top_ || level >= top_ + rows) top_ = std::max(0.0, level - rows / 2);
}

void TreePanel::draw_cells(Scene& scene, ImVec2 from, ImVec2 size) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(from, {from.x + size.x, from.y + size.y}, true);
  for (const IcicleCell& cell : cells_) draw_cell(scene, cell, list);
  // Neighbouring strips say together for how many they stand.
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
    const float top = from.y + row_ * static_cast<float>(cells_[i].row);
    const std::string words = plural(count, "node");
    const float width = ImGui::CalcTextSize(words.c_str()).x + em() * 0.6F;
    if (cells_[end - 1].x1 - cells_[i].x0 > width + em()) {
      const float middle = from.x + (cells_[i].x0 + cells_[end - 1].x1) / 2;
      const ImVec2 a{middle - width / 2, top + (row_ - em() * 1.2F) / 2},
          b{middle + width / 2, top + (row_ + em() * 1.2F) / 2};
      list->AddRectFilled(a, b, with_alpha(palette().panel, 0.85F), em() * 0.2F);
      label(list, a, b, words, palette().text, true);
    }
    i = end;
  }
  draw_selected(scene, list);
  list->PopClipRect();
}

void TreePanel::draw_cell(Scene& scene, const IcicleCell& cell, ImDrawList* list) {
  const Palette& colours = palette();
  const TreeIndex::Node& node = scene.tree[cell.first];
  const float top = origin_.y + row_ * static_cast<float>(cell.row), width = cell.x1 - cell.x0;
  const float gutter = width > 4 ? 1.F : 0.F;
  const ImVec2 from{origin_.x + cell.x0, top}, to{origin_.x + cell.x1 - gutter, top + row_ - 1};
  const bool by_state = scene.selection.colour == ColourBy::state;
  if (cell.count > 1) {
    const TreeIndex::Mix mix = scene.tree.mix(cell.first, cell.count);
    const std::uint32_t middle = scene.tree[cell.first + cell.count / 2].slot;
    // Not the full height: so it is told from a node.
    const ImU32 colour =
        middle == 0 ? colours.line
        : by_state  ? colours.of(mix.most())
                    : colour_of(scene.mirror.node(middle), mix.most(), scene.selection.colour, scene.mirror.tick());
    list->AddRectFilled({from.x, from.y + em() * 0.35F}, {to.x, to.y - em() * 0.15F}, with_alpha(colour, 0.75F));
    return;
  }
  if (node.slot == 0) {
    list->AddRectFilled(from, to, colours.line, em() * 0.15F);
    if (width > em() * 2)
      label(list, from, to,
            fmt::format("{}   {} tokens in {}", space_name(scene.mirror, NamespaceId{node.space}), grouped(node.tokens),
                        plural(node.nodes, "node")),
            colours.text);
    return;
  }
  const MirrorNode& told = scene.mirror.node(node.slot);
  const ImU32 colour = colour_of(told, node.state, scene.selection.colour, scene.mirror.tick());
  if (width < em() * 0.8F) {
    list->AddRectFilled(from, to, colour);
    return;
  }
  if (by_state) state_box(list, from, to, node.state);
  else list->AddRectFilled(from, to, colour);
  if (node.folded) {
    const float size = em() * 0.35F;
    list->AddTriangleFilled({to.x - size * 2, to.y}, {to.x, to.y - size * 2}, to, colours.on_fill);
  }
  if (width < em() * 1.6F) return;
  float right = to.x;
  if (node.locks != 0 && width > em() * 4) {
    lock_mark(list, {to.x, (from.y + to.y) / 2}, node.locks,
              by_state && node.state == NodeState::gap ? colours.text : colours.on_fill);
    right -= em() * 1.8F;
  }
  std::string words = grouped(node.own);
  if (width > em() * 7)
    words = node.chain == 1 ? fmt::format("{}  {}", node_name(told.id), words)
                            : fmt::format("{}  {} in a chain of {}", node_name(told.id), words, grouped(node.chain));
  const bool hollow = by_state && node.state == NodeState::gap;
  if (by_state && node.state == NodeState::protected_) {
    // Letters need a quiet ground under them.
    const float wide = std::min(ImGui::CalcTextSize(words.c_str()).x, right - from.x - em() * 0.6F);
    if (wide > em() * 0.6F)
      list->AddRectFilled({from.x + em() * 0.2F, (from.y + to.y) / 2 - em() * 0.6F},
                          {from.x + em() * 0.4F + wide, (from.y + to.y) / 2 + em() * 0.6F}, colour);
  }
  label(list, from, {right, to.y}, words, hollow ? colours.text : colours.on_fill);
}

void TreePanel::draw_selected(Scene& scene, ImDrawList* list) {
  const MirrorNode* node = scene.node();
  if (!node) return;
  const Palette& colours = palette();
  const double scale = static_cast<double>(laid_.width) / (laid_.right - laid_.left);
  const std::size_t own = scene.tree.place_of(slot_of(static_cast<NodeId>(node->id)));
  std::size_t place = TreeIndex::kNowhere;
  for (std::uint32_t slot = slot_of(static_cast<NodeId>(node->id)); slot != 0; slot = scene.mirror.node(slot).parent) {
    if (scene.tree.place_of(slot) == place) continue;  // of the same chain, or below a folded node
    place = scene.tree.place_of(slot);
    const std::size_t level = scene.tree.level_of(place);
    if (level < laid_.top) break;
    if (level >= laid_.top + laid_.rows) continue;
    const TreeIndex::Node& drawn = scene.tree[place];
    const auto x_of = [&](std::uint64_t token) {
      const double x = (static_cast<double>(token) - laid_.left) * scale;
      return origin_.x + static_cast<float>(std::clamp(x, -4.0, static_cast<double>(laid_.width) + 4));
    };
    const float top = origin_.y + row_ * static_cast<float>(level - laid_.top);
    const ImVec2 from{x_of(drawn.start), top}, to{std::max(x_of(drawn.end()) - 1, from.x + 3), top + row_ - 1};
    const bool itself = place == own;
    list->AddRect(from, to, itself ? colours.selected : with_alpha(colours.selected, 0.6F), 0, 0,
                  em() * (itself ? 0.18F : 0.08F));
  }
}

void TreePanel::tell(Scene& scene, const IcicleCell& cell) {
  const TreeIndex::Mix mix = scene.tree.mix(cell.first, cell.count);
  ImGui::BeginTooltip();
  if (cell.count > 1) {
    text(plural(cell.count, "node") + " too narrow to tell apart");
    dim(fmt::format("with all below: {} tokens in {}", grouped(mix.tokens), plural(mix.nodes, "node")));
    dim(fmt::format("evictable {}, protected {}, gap {} tokens", grouped(mix.evictable), grouped(mix.protected_),
                    grouped(mix.gap)));
    dim("click: go in");
  } else if (const TreeIndex::Node& node = scene.tree[cell.first]; node.slot == 0) {
    text("namespace " + space_name(scene.mirror, NamespaceId{node.space}));
    dim(fmt::format("{} tokens in {}", grouped(node.tokens), plural(node.nodes, "node")));
  } else {
    const MirrorNode& told = scene.mirror.node(node.slot);
    const MirrorNode& last = scene.mirror.node(node.last);
    text(fmt::format("node {}   {} tokens, depth {} to {}", node_name(told.id), grouped(node.own), grouped(told.begin),
                     grouped(last.end())));
    if (node.chain > 1)
      dim(fmt::format("a chain of {} nodes to {}, each the only child of the one before", grouped(node.chain),
                      node_name(last.id)));
    dim(fmt::format("with all below: {} tokens in {}", grouped(node.tokens), plural(node.nodes, "node")));
    dim(fmt::format("{}, {}, used {} ticks ago", node.locks ? plural(node.locks, "lock") : "no lock",
                    plural(told.hits, "hit"), grouped(scene.mirror.tick() - told.last_access)));
    dim(node.folded ? "right click: unfold" : last.children ? "double click: go in, right click: fold" : "a leaf");
  }
  ImGui::EndTooltip();
}

}  // namespace canopy::inspector
