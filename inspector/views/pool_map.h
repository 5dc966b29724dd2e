#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tree_index.h"

namespace canopy::inspector {

/// A pool's pages in the order of their numbers, gathered into as many cells as the screen has room for. update()
/// applies only what changed since the previous moment, so its cost depends on the changes, even for a hundred million
/// pages.
class PoolMap {
 public:
  enum class Owner : std::uint8_t { free, evictable, protected_, request, absent };
  static constexpr std::size_t kOwners = 5;
  /// Pages [first, first + pages).
  struct Cell {
    Page first = 0;
    std::uint32_t pages = 0;
    std::array<std::uint32_t, kOwners> by_owner{};
    /// Runs of free pages: their number, the longest, and those at the beginning and end of the cell.
    std::uint32_t runs = 0, longest = 0, at_begin = 0, at_end = 0;
    std::int64_t sample = 0;  ///< one of the owners (MirrorPool::owner), for the colour and for a click
    Owner most() const;
  };

  /// Updates the map to the mirror's moment, with at most `most_cells` cells of `group`. `feed`: a different number
  /// means a different feed.
  void update(const Mirror& mirror, const TreeIndex& tree, std::size_t group, std::size_t most_cells,
              std::uint64_t feed = 0);

  const std::vector<Cell>& cells() const { return cells_; }
  std::uint32_t pages_per_cell() const { return pages_per_cell_; }
  /// Returns the cell of a page. REQUIRES: 0 < page, and the map contains it.
  std::size_t cell_of(std::size_t page) const { return (page - 1) / pages_per_cell_; }
  std::uint64_t free() const { return free_; }
  std::uint64_t free_runs() const { return free_runs_; }
  std::uint64_t longest_run() const { return longest_run_; }
  /// Returns the number of cells that were counted page by page so far, over all updates.
  std::uint64_t counted() const { return counted_; }

 private:
  void count(Cell& cell, const MirrorPool& pool, const TreeIndex& tree);
  void count_changed(const Mirror& mirror, const TreeIndex& tree);
  void sum();

  std::vector<Cell> cells_;
  std::uint32_t pages_per_cell_ = 1;
  std::uint64_t free_ = 0, free_runs_ = 0, longest_run_ = 0, counted_ = 0;
  /// Moment, feed and group for which the cells are valid.
  std::uint64_t commits_ = 0, feed_ = 0;
  std::size_t group_ = 0, pages_ = 0;
  bool made_ = false;
};

}  // namespace canopy::inspector
