#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tree_index.h"

namespace canopy::inspector {

/// A pool's pages in the order of their numbers, gathered into cells that have room on the screen. It is brought from
/// moment to moment by what changed between them: a pool of a hundred million pages costs what its changes cost.
class PoolMap {
 public:
  enum class Owner : std::uint8_t { free, evictable, protected_, request, absent };
  static constexpr std::size_t kOwners = 5;
  /// Pages [first, first + pages).
  struct Cell {
    Page first = 0;
    std::uint32_t pages = 0;
    std::array<std::uint32_t, kOwners> by_owner{};
    /// Runs of free pages: how many, the longest, and those that begin and end with the cell.
    std::uint32_t runs = 0, longest = 0, at_begin = 0, at_end = 0;
    std::int64_t sample = 0;  ///< an owner among them (MirrorPool::owner), to colour and to click on
    Owner most() const;
  };

  /// Brings it to the mirror's moment: at most `most_cells` cells of `group`. `feed`: another number is another feed.
  void update(const Mirror& mirror, const TreeIndex& tree, std::size_t group, std::size_t most_cells,
              std::uint64_t feed = 0);

  const std::vector<Cell>& cells() const { return cells_; }
  std::uint32_t pages_per_cell() const { return pages_per_cell_; }
  /// The cell that a page is in; REQUIRES: 0 < page, and the map has it.
  std::size_t cell_of(std::size_t page) const { return (page - 1) / pages_per_cell_; }
  std::uint64_t free() const { return free_; }
  std::uint64_t free_runs() const { return free_runs_; }
  std::uint64_t longest_run() const { return longest_run_; }
  /// Share of the free pages that are not in the longest run.
  double fragmentation() const {
    return free_ ? 1 - static_cast<double>(longest_run_) / static_cast<double>(free_) : 0;
  }
  /// Cells that were counted through so far, over all updates.
  std::uint64_t counted() const { return counted_; }

 private:
  void count(Cell& cell, const MirrorPool& pool, const TreeIndex& tree);
  void count_changed(const Mirror& mirror, const TreeIndex& tree);
  void sum();

  std::vector<Cell> cells_;
  std::uint32_t pages_per_cell_ = 1;
  std::uint64_t free_ = 0, free_runs_ = 0, longest_run_ = 0, counted_ = 0;
  /// What the cells are of.
  std::uint64_t commits_ = 0, feed_ = 0;
  std::size_t group_ = 0, pages_ = 0;
  bool made_ = false;
};

}  // namespace canopy::inspector
