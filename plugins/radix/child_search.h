#pragma once

#include <canopy/types.h>

#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// Finds the nodes on the path of one key, each below the one found before.
class ChildSearch {
 public:
  ChildSearch(const NodeTable& nodes, const Runs& runs, const Key& key, Units page_size)
      : nodes_(nodes),
        runs_(runs),
        words_(key.words.data()),
        page_size_(page_size),
        limit_(runs.whole_units(key.words.size())) {}

  /// Returns the units of the key, in whole pages.
  Units limit() const { return limit_; }
  /// Returns the child of `parent` that shares at least one page with the key from `depth` on; 0 if there is none.
  Slot below(Slot parent, Units depth);
  /// Returns the units, in whole pages, that the last child found shares with the key.
  Units common() const { return common_; }

 private:
  const NodeTable& nodes_;
  const Runs& runs_;
  const std::uint32_t* words_;
  Units page_size_, limit_, common_ = 0;
  Slot next_parent_ = 0;  ///< node below which the search continues if all of it matches; 0: not known
  std::uint32_t next_fingerprint_ = 0;
};

}  // namespace canopy::radix
