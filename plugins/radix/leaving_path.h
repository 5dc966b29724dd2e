#pragma once

#include <canopy/types.h>

#include <array>
#include <span>

#include "column.h"
#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// A copy of the words and pages from the root to the end of one node, for visitors of evicted nodes. Words that the
/// path shares with the previous one of the same eviction are copied once.
class LeavingPath {
 public:
  LeavingPath(const NodeTable& nodes, const Runs& runs, Units page_size, std::size_t groups)
      : nodes_(nodes), runs_(runs), page_size_(page_size), groups_(groups) {}

  /// Begins an eviction.
  void begin();
  /// Copies the path to a node. Returns false if the system has no memory. The results of words() and pages() are valid
  /// until the next call.
  bool read(Slot slot);
  std::span<const std::uint32_t> words() const { return {words_.data(), words_.size()}; }
  GroupPages pages() const;
  std::size_t resident() const;

 private:
  struct Read {
    Slot slot;
    Units end;
  };
  Units shared_with_last(Slot slot);
  void remember(Slot slot, std::size_t count);

  const NodeTable& nodes_;
  const Runs& runs_;
  Units page_size_;
  std::size_t groups_;
  Column<std::uint32_t> words_;
  Column<Read> read_;  ///< nodes whose words are in words_, ordered from the root
  std::array<Column<Page>, kMaxGroups> pages_;
};

}  // namespace canopy::radix
