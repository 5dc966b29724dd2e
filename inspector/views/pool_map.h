#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tree_index.h"

namespace canopy::inspector {

/// A pool's pages in the order of their numbers, gathered into cells that have room on the screen.
struct PoolMap {
  enum class Owner : std::uint8_t { free, evictable, protected_, tombstone, request, absent };
  static constexpr std::size_t kOwners = 6;
  /// Pages [first, first + pages).
  struct Cell {
    Page first = 0;
    std::uint32_t pages = 0;
    std::array<std::uint32_t, kOwners> by_owner{};
    std::int64_t sample = 0;  ///< an owner among them (MirrorPool::owner), to colour and to click on
    bool selected = false;    ///< some are the selected node's or request's
    Owner most() const;
  };

  std::vector<Cell> cells;
  std::uint32_t pages_per_cell = 1;
  std::uint64_t free = 0, free_runs = 0, longest_run = 0;

  /// At most `most_cells` cells. Pages of the node in `node_slot` and of `request` count as selected; 0: none.
  static PoolMap of(const MirrorPool& pool, const TreeIndex& tree, std::size_t most_cells, std::uint32_t node_slot,
                    std::uint64_t request);
  /// Share of the free pages that are not in the longest run.
  double fragmentation() const { return free ? 1 - static_cast<double>(longest_run) / static_cast<double>(free) : 0; }
};

}  // namespace canopy::inspector
