#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <array>

#include "column.h"

namespace canopy::radix {

/// The lists of pages that the last result of the index points to, one for each group.
class ResultPages {
 public:
  explicit ResultPages(std::size_t groups) : groups_(groups) {}

  Column<Page>& operator[](std::size_t group) { return lists_[group]; }
  /// Empties a group's list. Keeps memory for a usual result: 256 KiB, or for 1/64 of the `resident` pages if that is
  /// more.
  void clear(std::size_t group, std::uint64_t resident) {
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 16;
    lists_[group].clear_but_keep(std::max(kLeast, resident / 64));
  }
  GroupPages result() const {
    GroupPages pages;
    for (std::size_t g = 0; g < groups_; ++g) pages[g] = {lists_[g].data(), lists_[g].size()};
    return pages;
  }
  std::size_t resident() const {
    std::size_t bytes = 0;
    for (const auto& list : lists_) bytes += list.resident();
    return bytes;
  }

 private:
  std::size_t groups_;
  std::array<Column<Page>, kMaxGroups> lists_;
};

}  // namespace canopy::radix
