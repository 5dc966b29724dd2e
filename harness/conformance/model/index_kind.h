#pragma once

#include <string>

namespace canopy::test {

/// What a suite must know of an index before it can say what the index will do.
struct IndexKind {
  bool remembers = false;  ///< false: it keeps nothing ("cache off")
  /// Nodes are runs of pages, cut where keys part, and the policy ranks them. False: each page is a node, and the order
  /// of eviction is the index's own, as in a table of blocks.
  bool tree = false;
};

/// Found by trial, under lru.
IndexKind kind_of(const std::string& index, const std::string& options = {});

}  // namespace canopy::test
