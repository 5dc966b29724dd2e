#include "pool_map.h"

#include <algorithm>

namespace canopy::inspector {
namespace {

PoolMap::Owner owner_of(const MirrorPool& pool, const TreeIndex& tree, std::size_t page, std::int64_t owner) {
  if (owner < 0) return PoolMap::Owner::request;
  if (owner == 0) return pool.has(page) ? PoolMap::Owner::free : PoolMap::Owner::absent;
  // A node with a page of this group is not without them.
  return tree.state_of(static_cast<std::uint32_t>(owner)) == NodeState::protected_ ? PoolMap::Owner::protected_
                                                                                   : PoolMap::Owner::evictable;
}

}  // namespace

PoolMap::Owner PoolMap::Cell::most() const {
  return static_cast<Owner>(std::max_element(by_owner.begin(), by_owner.end()) - by_owner.begin());
}

PoolMap PoolMap::of(const MirrorPool& pool, const TreeIndex& tree, std::size_t most_cells, std::uint32_t node_slot,
                    std::uint64_t request) {
  PoolMap map;
  const std::size_t end = pool.end(), pages = end == 0 ? 0 : end - 1;  // page 0 is never in use
  if (pages == 0 || most_cells == 0) return map;
  map.pages_per_cell = static_cast<std::uint32_t>((pages + most_cells - 1) / most_cells);
  map.cells.reserve(pages / map.pages_per_cell + 1);
  std::uint64_t run = 0;
  for (std::size_t page = 1; page < end;) {
    Cell cell;
    cell.first = static_cast<Page>(page);
    for (; page < end && cell.pages < map.pages_per_cell; ++page, ++cell.pages) {
      const std::int64_t owner = page < pool.owner.size() ? pool.owner[page] : 0;
      const Owner kind = owner_of(pool, tree, page, owner);
      ++cell.by_owner[static_cast<std::size_t>(kind)];
      cell.selected |= owner > 0 ? static_cast<std::uint32_t>(owner) == node_slot
                                 : owner < 0 && request != 0 && static_cast<std::uint64_t>(~owner) == request;
      if (cell.sample == 0) cell.sample = owner;
      if (kind != Owner::free) {
        run = 0;
        continue;
      }
      map.free_runs += run == 0;
      map.longest_run = std::max(map.longest_run, ++run);
      ++map.free;
    }
    map.cells.push_back(cell);
  }
  return map;
}

}  // namespace canopy::inspector
