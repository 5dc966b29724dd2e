#pragma once

#include <string>

namespace canopy::test {

/// The properties of an index that a suite needs to predict its behaviour.
struct IndexKind {
  bool remembers = false;  ///< false: it stores nothing ("cache off")
  /// True: nodes are runs of pages, cut where keys diverge, and the policy ranks them. False: each page is a node, and
  /// the index has its own order of eviction, as in a table of blocks.
  bool tree = false;
};

/// Determines the kind by experiment, under lru.
IndexKind kind_of(const std::string& index, const std::string& options = {});

}  // namespace canopy::test
