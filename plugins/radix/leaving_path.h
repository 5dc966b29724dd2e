#pragma once

#include <canopy/types.h>

#include <array>
#include <span>

#include "column.h"
#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// The words and pages from the root to the end of one node, copied: for visitors of what is evicted.
class LeavingPath {
 public:
  LeavingPath(const NodeTable& nodes, const Runs& runs, Units page_size, std::size_t groups)
      : nodes_(nodes), runs_(runs), page_size_(page_size), groups_(groups) {}

  /// False if the system has no memory. What words() and pages() return is valid until the next call.
  bool read(Slot slot);
  std::span<const std::uint32_t> words() const { return {words_.data(), words_.size()}; }
  GroupPages pages() const;
  std::size_t resident() const;

 private:
  const NodeTable& nodes_;
  const Runs& runs_;
  Units page_size_;
  std::size_t groups_;
  Column<std::uint32_t> words_;
  std::array<Column<Page>, kMaxGroups> pages_;
};

}  // namespace canopy::radix
