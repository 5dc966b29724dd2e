#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "names.h"
#include "panels.h"

namespace canopy::inspector {

PoolPanel::Owner PoolPanel::Cell::most() const {
  return static_cast<Owner>(std::max_element(by_owner.begin(), by_owner.end()) - by_owner.begin());
}

PoolPanel::Map PoolPanel::map(const MirrorPool& pool, const TreeIndex& tree, std::size_t most_cells,
                              std::uint32_t node_slot, std::uint64_t request) {
  Map map;
  const std::size_t end = pool.end(), pages = end == 0 ? 0 : end - 1;  // page 0 is nobody's
  if (pages == 0 || most_cells == 0) return map;
  map.pages_per_cell = static_cast<std::uint32_t>((pages + most_cells - 1) / most_cells);
  map.cells.reserve(pages / map.pages_per_cell + 1);
  std::uint64_t run = 0;
  for (std::size_t page = 1; page < end;) {
    Cell cell;
    cell.first = static_cast<Page>(page);
    for (; page < end && cell.pages < map.pages_per_cell; ++page, ++cell.pages) {
      const std::int64_t owner = page < pool.owner.size() ? pool.owner[page] : 0;
      Owner kind = Owner::free;
      if (owner > 0) {
        const auto slot = static_cast<std::uint32_t>(owner);
        const NodeState state = tree.state_of(slot);
        kind = state == NodeState::evictable    ? Owner::evictable
               : state == NodeState::protected_ ? Owner::protected_
                                                : Owner::gap;
        cell.selected |= slot == node_slot;
      } else if (owner < 0) {
        kind = Owner::held;
        cell.selected |= request != 0 && static_cast<std::uint64_t>(~owner) == request;
      }
      if (owner == 0 && !pool.has(page)) {
        kind = Owner::absent;
        run = 0;
      } else if (owner == 0) {
        map.free_runs += run == 0;
        map.longest_run = std::max(map.longest_run, ++run);
        ++map.free;
      } else {
        run = 0;
        if (cell.sample == 0) cell.sample = owner;
      }
      ++cell.by_owner[static_cast<std::size_t>(kind)];
    }
    map.cells.push_back(cell);
  }
  return map;
}

namespace {

ImU32 colour_of(const Scene& scene, const PoolPanel::Cell& cell) {
  const Palette& colours = palette();
  switch (cell.most()) {
    case PoolPanel::Owner::free:
      return colours.free;
    case PoolPanel::Owner::held:
      return colours.held;
    case PoolPanel::Owner::absent:
      return colours.absent;
    default:
      break;
  }
  if (scene.selection.colour != ColourBy::state && cell.sample > 0 &&
      static_cast<std::size_t>(cell.sample) < scene.mirror.slots())
    return inspector::colour_of(scene.mirror.node(static_cast<std::uint32_t>(cell.sample)), NodeState::evictable,
                                scene.selection.colour, scene.mirror.tick());
  return cell.most() == PoolPanel::Owner::protected_ ? colours.protected_
         : cell.most() == PoolPanel::Owner::gap      ? colours.gap
                                                     : colours.evictable;
}

void tell(const Scene& scene, const PoolPanel::Cell& cell) {
  ImGui::BeginTooltip();
  text(cell.pages == 1
           ? fmt::format("page {}", grouped(cell.first))
           : fmt::format("pages {} to {}", grouped(cell.first), grouped(std::uint64_t{cell.first} + cell.pages - 1)));
  constexpr const char* kNames[] = {"free", "evictable", "protected", "of a gap", "held by requests", "without memory"};
  for (std::size_t i = 0; i < cell.by_owner.size(); ++i)
    if (cell.by_owner[i]) dim(fmt::format("{} {}", grouped(cell.by_owner[i]), kNames[i]));
  if (cell.sample > 0)
    dim(fmt::format("click: node {}", node_name(scene.mirror.node(static_cast<std::uint32_t>(cell.sample)).id)));
  if (cell.sample < 0) dim(fmt::format("click: request {}", ~cell.sample));
  ImGui::EndTooltip();
}

/// "3 of 4 segments have memory, 1 of them goes when its pages are let go."
std::string segments_words(const MirrorPool& pool) {
  std::array<std::size_t, 4> states{};
  for (const MirrorPool::Segment& segment : pool.segments) ++states[std::min<std::size_t>(segment.state, 3)];
  std::string words = fmt::format("{} of {} of {} have memory", grouped(pool.segments.size() - states[0]),
                                  plural(pool.segments.size(), "segment"), plural(pool.segment_pages, "page"));
  if (states[2]) words += fmt::format(", {} on the way out: requests hold pages there", grouped(states[2]));
  if (states[3]) words += fmt::format(", {} idle", grouped(states[3]));
  return words + ".";
}

}  // namespace

void PoolPanel::draw(Scene& scene, const Area& area) {
  const MirrorPool& pool = scene.pool();
  begin_panel("POOL", area,
              fmt::format("{}: {} pages, {} tokens", pool.name, grouped(pool.pages),
                          brief(static_cast<double>(pool.pages * scene.mirror.page_size()))));
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float foot = ImGui::GetTextLineHeight() * 1.1F;
  const float height = room.y - foot;
  if (pool.pages == 0 || height < em()) {
    nothing_here("No pool has been told of yet.");
    end_panel();
    return;
  }
  // The largest squares that fill the panel: one for every page, or for several where they would be too small to hit.
  const float least = std::max(3.F, em() * 0.3F);
  const auto across = [&](float square) {
    return static_cast<std::size_t>(std::max(1.F, std::floor(room.x / square)));
  };
  const auto fit = [&](float square) {
    return across(square) * static_cast<std::size_t>(std::max(1.F, std::floor(height / square)));
  };
  const std::size_t pages = pool.end() - 1, together = (pages + fit(least) - 1) / fit(least),
                    most = (pages + together - 1) / together;
  float size = std::floor(em() * 1.4F);
  while (size > least && fit(size) < most) size -= 0.25F;
  const std::size_t columns = across(size);
  if (at_ != scene.mirror.commits() || group_ != scene.selection.group || most_ != most ||
      node_ != scene.selection.node || request_ != scene.selection.request) {
    at_ = scene.mirror.commits(), group_ = scene.selection.group, most_ = most;
    node_ = scene.selection.node, request_ = scene.selection.request;
    const MirrorNode* node = scene.node();
    map_ = map(pool, scene.tree, most, node ? slot_of(static_cast<NodeId>(node->id)) : 0, request_);
  }
  ImGui::InvisibleButton("pages", {room.x, height});
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float gap = size >= 5 ? 1.F : 0.F;
  const auto corner = [&](std::size_t i) {
    return ImVec2{from.x + size * static_cast<float>(i % columns), from.y + size * static_cast<float>(i / columns)};
  };
  // Neighbours of one colour in a row are one box, where there is no gap to see between them.
  for (std::size_t i = 0; i < map_.cells.size();) {
    const ImU32 colour = colour_of(scene, map_.cells[i]);
    std::size_t end = i + 1;
    if (gap == 0)
      while (end < map_.cells.size() && end % columns != 0 && colour_of(scene, map_.cells[end]) == colour) ++end;
    const ImVec2 a = corner(i);
    list->AddRectFilled(a, {a.x + size * static_cast<float>(end - i) - gap, a.y + size - gap}, colour);
    i = end;
  }
  for (std::size_t i = 0; i < map_.cells.size(); ++i) {
    if (!map_.cells[i].selected) continue;
    const ImVec2 a = corner(i);
    list->AddRect({a.x - 1, a.y - 1}, {a.x + size, a.y + size}, palette().selected, 0, 0, std::max(1.5F, em() / 9));
  }
  if (ImGui::IsItemHovered()) {
    const auto x = static_cast<std::size_t>((ImGui::GetIO().MousePos.x - from.x) / size);
    const auto y = static_cast<std::size_t>((ImGui::GetIO().MousePos.y - from.y) / size);
    if (const std::size_t i = y * columns + x; x < columns && i < map_.cells.size()) {
      const Cell& cell = map_.cells[i];
      tell(scene, cell);
      if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && cell.sample != 0) {
        if (cell.sample > 0) scene.selection.select_node(scene.mirror.node(static_cast<std::uint32_t>(cell.sample)).id);
        else if (const MirrorRequest* request = scene.mirror.request(static_cast<std::uint64_t>(~cell.sample)))
          scene.selection.select_request(*request);
      }
    }
  }
  const std::string words =
      fmt::format("{} free, longest run {}, frag {:.0f} %{}", grouped(map_.free), grouped(map_.longest_run),
                  map_.fragmentation() * 100,
                  map_.pages_per_cell > 1 ? fmt::format(", {} a square", grouped(map_.pages_per_cell)) : "");
  const std::uint64_t go = pool.leaving();
  if (go > 0) text(fitted(fmt::format("{} must go; {}", grouped(go), words), room.x), palette().warn);
  else dim(fitted(words, room.x));
  explain(
      fmt::format("{} free in {}, the longest of {}. Fragmentation is the share of the free pages that are not in "
                  "the longest run. A square is {}. {}",
                  plural(map_.free, "page"), plural(map_.free_runs, "run"), grouped(map_.longest_run),
                  plural(map_.pages_per_cell, "page"), segments_words(pool)));
  end_panel();
}

}  // namespace canopy::inspector
