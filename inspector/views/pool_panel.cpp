#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "draw.h"
#include "panels.h"
#include "pool_map.h"

namespace canopy::inspector {
namespace {

ImU32 colour_of_cell(const Scene& scene, const PoolMap::Cell& cell) {
  const Palette& colours = palette();
  switch (cell.most()) {
    case PoolMap::Owner::free:
      return colours.free;
    case PoolMap::Owner::request:
      return colours.owned;
    case PoolMap::Owner::absent:
      return colours.absent;
    default:
      break;
  }
  const bool left_out = scene.selection.space && cell.sample > 0 &&
                        static_cast<std::size_t>(cell.sample) < scene.mirror.slots() &&
                        scene.mirror.node(static_cast<std::uint32_t>(cell.sample)).space != *scene.selection.space;
  if (left_out) return mixed(colours.evictable, colours.panel, 0.72F);
  if (scene.selection.colour != ColourBy::state && scene.selection.colour != ColourBy::tier && cell.sample > 0 &&
      static_cast<std::size_t>(cell.sample) < scene.mirror.slots())
    return colour_of(scene.mirror.node(static_cast<std::uint32_t>(cell.sample)), NodeState::evictable,
                     scene.selection.colour, scene.mirror.tick());
  return cell.most() == PoolMap::Owner::protected_ ? colours.protected_ : colours.evictable;
}

/// Returns the segment of a page in words: "segment 4 of 53, pages 24,576 to 32,767: draining, 12 pages in use".
std::string segment_words(const MirrorPool& pool, std::uint64_t page) {
  if (pool.segment_pages == 0 || page / pool.segment_pages >= pool.segments.size()) return {};
  const std::uint64_t at = page / pool.segment_pages, first = at * pool.segment_pages;
  const MirrorPool::Segment& segment = pool.segments[static_cast<std::size_t>(at)];
  std::string words = fmt::format("segment {} of {}, pages {} to {}: ", grouped(at + 1), grouped(pool.segments.size()),
                                  grouped(first), grouped(first + pool.segment_pages - 1));
  switch (segment.state) {
    case SegmentState::absent:
      return words + "without memory";
    case SegmentState::offered:
      return words + (segment.offered == pool.segment_pages
                          ? "offered"
                          : fmt::format("{} offered", plural(segment.offered, "page")));
    case SegmentState::draining:
      return words + fmt::format("draining, {} in use", plural(segment.draining, "page"));
    case SegmentState::idle:
      return words + "idle, with memory";
  }
  return words;
}

void explain_cell(const Scene& scene, const PoolMap::Cell& cell) {
  ImGui::BeginTooltip();
  text(cell.pages == 1
           ? fmt::format("page {}", grouped(cell.first))
           : fmt::format("pages {} to {}", grouped(cell.first), grouped(std::uint64_t{cell.first} + cell.pages - 1)));
  if (const std::string segment = segment_words(scene.pool(), cell.first); !segment.empty()) dim(segment);
  constexpr const char* kNames[PoolMap::kOwners] = {"free", "evictable", "protected", "owned by requests",
                                                    "without memory"};
  for (std::size_t i = 0; i < cell.by_owner.size(); ++i)
    if (cell.by_owner[i]) dim(fmt::format("{} {}", grouped(cell.by_owner[i]), kNames[i]));
  if (cell.sample > 0)
    dim(fmt::format("click: node {}", node_name(scene.mirror.node(static_cast<std::uint32_t>(cell.sample)).id)));
  if (cell.sample < 0) dim(fmt::format("click: request {}", ~cell.sample));
  ImGui::EndTooltip();
}

void select_owner(Scene& scene, const PoolMap::Cell& cell) {
  if (cell.sample > 0) scene.selection.select_node(scene.mirror.node(static_cast<std::uint32_t>(cell.sample)).id);
  if (cell.sample >= 0) return;
  if (const MirrorRequest* request = scene.mirror.request(static_cast<std::uint64_t>(~cell.sample)))
    scene.selection.select_request(*request);
}

/// Returns the state of the segments: "3 of 4 segments of 64 pages have memory, 1 draining: in use by requests."
std::string segments_words(const MirrorPool& pool) {
  const auto in = [&](SegmentState state) {
    return static_cast<std::size_t>(std::count_if(pool.segments.begin(), pool.segments.end(),
                                                  [&](const auto& segment) { return segment.state == state; }));
  };
  const std::size_t draining = in(SegmentState::draining), idle = in(SegmentState::idle);
  std::string words =
      fmt::format("{} of {} of {} have memory", grouped(pool.segments.size() - in(SegmentState::absent)),
                  plural(pool.segments.size(), "segment"), plural(pool.segment_pages, "page"));
  if (draining) words += fmt::format(", {} draining: in use by requests", grouped(draining));
  if (idle) words += fmt::format(", {} idle", grouped(idle));
  return words + ".";
}

/// The largest squares that fill an area: one per page, or one for several pages if they would be too small to click.
struct Squares {
  float size;
  std::size_t columns, most;  ///< most: number of cells

  Squares(std::size_t pages, ImVec2 room) {
    const float least = std::max(3.F, em() * 0.3F);
    const auto across = [&](float square) {
      return static_cast<std::size_t>(std::max(1.F, std::floor(room.x / square)));
    };
    const auto fit = [&](float square) {
      return across(square) * static_cast<std::size_t>(std::max(1.F, std::floor(room.y / square)));
    };
    const std::size_t together = (pages + fit(least) - 1) / fit(least);
    most = (pages + together - 1) / together;
    size = std::floor(em() * 1.4F);
    while (size > least && fit(size) < most) size -= 0.25F;
    columns = across(size);
  }
  ImVec2 corner(ImVec2 from, std::size_t i) const {
    return {from.x + size * static_cast<float>(i % columns), from.y + size * static_cast<float>(i / columns)};
  }
  /// Returns the cell under a point, or `none` if there is none in that column.
  std::size_t at(ImVec2 from, ImVec2 point, std::size_t none) const {
    const auto x = static_cast<std::size_t>((point.x - from.x) / size);
    const auto y = static_cast<std::size_t>((point.y - from.y) / size);
    return x < columns ? y * columns + x : none;
  }
};

/// A pool's pages by their owners.
class PoolPanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override {
    const MirrorPool& pool = scene.pool();
    return fmt::format("{}{}: {} pages, {} tokens", scene.selection.tier ? "host, " : "", pool.name,
                       grouped(pool.all_pages()),
                       brief(static_cast<double>(pool.all_pages() * scene.mirror.page_size())));
  }
  void draw(Scene& scene) override {
    const MirrorPool& pool = scene.pool();
    const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const bool legend = room.y > em() * 9;
    const float height =
        room.y - ImGui::GetTextLineHeight() * 1.1F - (legend ? ImGui::GetTextLineHeightWithSpacing() : 0);
    if (pool.callers.pages != 0)
      return nothing_here(
          fmt::format("{} of {} are free, {} are owned by requests.\n\nThe pool belongs to the caller, which reports "
                      "how many pages are free but not which ones, so there is no map.",
                      grouped(pool.counted.free), plural(pool.callers.pages, "page"), grouped(pool.counted.owned)));
    if (pool.pages == 0 || height < em()) return nothing_here("The feed has not reported a pool yet.");
    const Squares squares(pool.end() - 1, {room.x, height});
    update(scene, squares.most);
    ImGui::InvisibleButton("pages", {room.x, height});
    draw_squares(scene, squares, from);
    if (ImGui::IsItemHovered())
      if (const std::size_t i = squares.at(from, ImGui::GetIO().MousePos, map_.cells().size());
          i < map_.cells().size()) {
        explain_cell(scene, map_.cells()[i]);
        if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) select_owner(scene, map_.cells()[i]);
      }
    if (legend) draw_legend(scene, room.x);
    draw_foot(pool, room.x);
  }

 private:
  void update(const Scene& scene, std::size_t most) {
    if (at_ == scene.mirror.commits() && group_ == scene.selection.group && most_ == most && feed_ == scene.shown())
      return;
    at_ = scene.mirror.commits(), group_ = scene.selection.group, most_ = most, feed_ = scene.shown();
    map_.update(scene.mirror, scene.tree, group_, most, feed_);
  }

  /// Draws a line where a segment begins: down the side of its first cell, and above its cells up to the next row's.
  /// Yellow: the segment drains.
  void draw_borders(const MirrorPool& pool, const Squares& squares, ImVec2 from) const {
    constexpr std::size_t kLeastCells = 4;  // cells of a segment; smaller ones would be only borders
    if (pool.segments.size() < 2 || pool.segment_pages < kLeastCells * map_.pages_per_cell()) return;
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float thick = std::max(1.F, em() / 14);
    for (std::size_t segment = 1; segment < pool.segments.size(); ++segment) {
      const std::size_t page = segment * pool.segment_pages, i = map_.cell_of(page);
      if (i >= map_.cells().size()) break;
      const bool drains = pool.segments[segment].state == SegmentState::draining;
      const ImU32 colour = drains ? palette().warn : palette().text;
      const ImVec2 a = squares.corner(from, i);
      const float left = from.x, right = from.x + squares.size * static_cast<float>(squares.columns);
      list->AddLine(a, {a.x, a.y + squares.size}, colour, thick);
      list->AddLine(a, {right, a.y}, colour, thick);
      list->AddLine({left, a.y + squares.size}, {a.x, a.y + squares.size}, colour, thick);
    }
  }

  /// Draws an outline around each cell with a page of the selected node or request.
  void draw_selected(const Scene& scene, const Squares& squares, ImVec2 from) const {
    std::size_t last = map_.cells().size();
    const auto outline = [&](const std::vector<PageRun>& runs) {
      for (const PageRun& run : runs) {
        if (run.group != group_ || run.count == 0 || run.first == 0) continue;
        const std::size_t end = std::min(map_.cell_of(std::size_t{run.first} + run.count - 1) + 1, map_.cells().size());
        for (std::size_t i = map_.cell_of(run.first); i < end; ++i) {
          if (i == std::exchange(last, i)) continue;
          const ImVec2 a = squares.corner(from, i);
          ImGui::GetWindowDrawList()->AddRect({a.x - 1, a.y - 1}, {a.x + squares.size, a.y + squares.size},
                                              palette().selected, 0, 0, std::max(1.5F, em() / 9));
        }
      }
    };
    if (const MirrorNode* node = scene.node()) outline(node->pages);
    if (const MirrorRequest* request =
            scene.selection.request ? scene.mirror.request(scene.selection.request) : nullptr)
      outline(request->pages);
  }

  void draw_squares(const Scene& scene, const Squares& squares, ImVec2 from) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const std::vector<PoolMap::Cell>& cells = map_.cells();
    const float size = squares.size, gap = size >= 5 ? 1.F : 0.F;
    // Neighbours of the same colour in a row are drawn as one box if there is no visible gap between them.
    for (std::size_t i = 0; i < cells.size();) {
      const ImU32 colour = colour_of_cell(scene, cells[i]);
      std::size_t end = i + 1;
      if (gap == 0)
        while (end < cells.size() && end % squares.columns != 0 && colour_of_cell(scene, cells[end]) == colour) ++end;
      const ImVec2 a = squares.corner(from, i);
      list->AddRectFilled(a, {a.x + size * static_cast<float>(end - i) - gap, a.y + size - gap}, colour);
      i = end;
    }
    draw_borders(scene.pool(), squares, from);
    draw_selected(scene, squares, from);
  }

  /// Draws the legend. Colours that the tree's legend does not name come first.
  static void draw_legend(const Scene& scene, float width) {
    const Palette& colours = palette();
    const float right = ImGui::GetCursorScreenPos().x + width;
    bool first = true;
    for (const auto& [name, colour] : {std::pair("free", colours.free),
                                       {"without memory", colours.absent},
                                       {"owned", colours.owned},
                                       {"evictable", colours.evictable},
                                       {"protected", colours.protected_}}) {
      const float wide = ImGui::CalcTextSize(name).x + em() * 2;
      const bool state = colour == colours.evictable || colour == colours.protected_;
      if (!first && (ImGui::GetItemRectMax().x + wide > right ||
                     (state && scene.selection.colour != ColourBy::state && scene.selection.colour != ColourBy::tier)))
        return;
      if (!std::exchange(first, false)) ImGui::SameLine(0, em() * 0.9F);
      swatch(colour, name);
    }
  }

  void draw_foot(const MirrorPool& pool, float width) const {
    const std::string words =
        fmt::format("{} free in {}, the longest of {}{}", grouped(map_.free()), plural(map_.free_runs(), "run"),
                    grouped(map_.longest_run()),
                    map_.pages_per_cell() > 1 ? fmt::format(", {} per square", grouped(map_.pages_per_cell())) : "");
    const std::uint64_t draining = pool.draining();
    if (draining > 0) text(fitted(fmt::format("{} draining; {}", grouped(draining), words), width), palette().warn);
    else dim(fitted(words, width));
    explain(
        fmt::format("A request takes any free pages, adjacent or not: short runs cost no hits and evict nothing. A "
                    "square is {}. {}",
                    plural(map_.pages_per_cell(), "page"), segments_words(pool)));
  }

  std::uint64_t at_ = ~std::uint64_t{0}, feed_ = 0;
  std::size_t group_ = 0, most_ = 0;
  PoolMap map_;
};

}  // namespace

PanelInfo pool_panel() {
  return {
      .title = "POOL",
      .row = Row::tab,
      .key = 'P',
      .help = "Which pages have which owner, and how scattered are the free ones?",
      .make = make_panel<PoolPanel>,
      .figures = FiguresOf::moment,
      .not_in_events = "Not known: KV events contain neither page numbers nor the numbers of all and of free pages.",
      .needs_nodes = true,
      .shows_tier = true,
  };
}

}  // namespace canopy::inspector
