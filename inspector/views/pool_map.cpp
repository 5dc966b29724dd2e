#include "pool_map.h"

#include <algorithm>

namespace canopy::inspector {
namespace {

PoolMap::Owner owner_of(const MirrorPool& pool, const TreeIndex& tree, std::size_t page, std::int64_t owner) {
  if (owner < 0) return PoolMap::Owner::request;
  if (owner == 0) return pool.has(page) ? PoolMap::Owner::free : PoolMap::Owner::absent;
  // A node with a page of this group is neither a tombstone nor without pages.
  return tree.state_of(static_cast<std::uint32_t>(owner)) == NodeState::protected_ ? PoolMap::Owner::protected_
                                                                                   : PoolMap::Owner::evictable;
}

}  // namespace

PoolMap::Owner PoolMap::Cell::most() const {
  return static_cast<Owner>(std::max_element(by_owner.begin(), by_owner.end()) - by_owner.begin());
}

void PoolMap::update(const Mirror& mirror, const TreeIndex& tree, std::size_t group, std::size_t most_cells,
                     std::uint64_t feed) {
  const MirrorPool& pool = mirror.pool(group);
  const std::size_t end = pool.end(), pages = end == 0 || most_cells == 0 ? 0 : end - 1;  // page 0 is never in use
  const auto together = static_cast<std::uint32_t>(pages == 0 ? 1 : (pages + most_cells - 1) / most_cells);
  const std::uint64_t at = mirror.commits();
  const bool same = made_ && group_ == group && feed_ == feed && pages_ == pages && pages_per_cell_ == together;
  const bool follows = same && commits_ <= at && pool.changes.since <= commits_;
  if (!follows) {
    cells_.assign((pages + together - 1) / together, {});
    pages_per_cell_ = together;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i].first = static_cast<Page>(i * together + 1);
      cells_[i].pages = static_cast<std::uint32_t>(std::min<std::size_t>(together, pages - i * together));
      count(cells_[i], pool, tree);
    }
  } else if (commits_ != at) {
    group_ = group;
    count_changed(mirror, tree);
  }
  made_ = true, group_ = group, feed_ = feed, pages_ = pages, commits_ = at;
  sum();
}

void PoolMap::count_changed(const Mirror& mirror, const TreeIndex& tree) {
  const MirrorPool& pool = mirror.pool(group_);
  std::vector<std::size_t> touched;
  const auto touch = [&](std::size_t first, std::size_t count) {
    const std::size_t from = std::max<std::size_t>(first, 1), to = std::min(first + count, pages_ + 1);
    for (std::size_t i = cell_of(from); from < to && i <= cell_of(to - 1); ++i)
      if (touched.empty() || touched.back() != i) touched.push_back(i);
  };
  using Change = MirrorPool::Changes::Change;
  const std::vector<Change>& list = pool.changes.list;
  const auto later = std::upper_bound(list.begin(), list.end(), commits_,
                                      [](std::uint64_t at, const Change& change) { return at < change.commit; });
  for (auto change = later; change != list.end(); ++change) {
    if (change->pages.pages != 0) touch(change->pages.first, change->pages.pages);
    else
      for (const PageRun& run : mirror.node(change->pages.first).pages)
        if (run.group == group_) touch(run.first, run.count);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const std::size_t i : touched) count(cells_[i], pool, tree);
}

void PoolMap::count(Cell& cell, const MirrorPool& pool, const TreeIndex& tree) {
  ++counted_;
  cell = {cell.first, cell.pages, {}, 0, 0, 0, 0, 0};
  std::uint32_t run = 0;
  for (std::uint32_t i = 0; i < cell.pages; ++i) {
    const std::size_t page = cell.first + std::size_t{i};
    const std::int64_t owner = pool.owner[page];
    const Owner kind = owner_of(pool, tree, page, owner);
    ++cell.by_owner[static_cast<std::size_t>(kind)];
    if (cell.sample == 0) cell.sample = owner;
    if (kind != Owner::free) {
      run = 0;
      continue;
    }
    cell.runs += run == 0;
    ++run;
    cell.longest = std::max(cell.longest, run);
    if (run == i + 1) cell.at_begin = run;
  }
  cell.at_end = run;
}

void PoolMap::sum() {
  free_ = free_runs_ = longest_run_ = 0;
  std::uint64_t run = 0;  // length of the run of free pages that ends with the cells so far
  for (const Cell& cell : cells_) {
    free_ += cell.by_owner[static_cast<std::size_t>(Owner::free)];
    free_runs_ += cell.runs - (run > 0 && cell.at_begin > 0 ? 1 : 0);
    longest_run_ = std::max({longest_run_, std::uint64_t{cell.longest}, run + cell.at_begin});
    run = cell.at_end == cell.pages ? run + cell.pages : cell.at_end;
  }
}

}  // namespace canopy::inspector
