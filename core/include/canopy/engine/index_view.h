#pragma once

#include <canopy/index_upkeep.h>
#include <canopy/prefix_index.h>

#include <cstddef>

namespace canopy {

struct CacheState;

/// The index of an engine or of its host tier, for reading. Nothing here changes the index, not even recency. If the
/// component throws, the result is empty, and the ledger records a violation. An exception of a visitor reaches the
/// caller. Valid as long as its engine.
class IndexView {
 public:
  explicit IndexView(const CacheState& state) : state_(&state) {}

  /// Return the resident units of a group, in all namespaces or in one.
  Sizes sizes(std::size_t group) const;
  Sizes sizes(std::size_t group, NamespaceId space) const;
  /// Returns the cost of the index. It reads memory figures from the system: for reports, not for every operation.
  IndexUse use() const;
  /// Returns the seconds that the engine has spent in calls of the index.
  double seconds() const;
  Tick now() const;  ///< time on the logical clock
  /// Returns the longest prefix of a key that every group can serve.
  Probe peek(const Key& key) const;
  /// Visit every node, parents before children, or every node of a group that waits to be evicted. Return false if the
  /// index broke off: there may be others. O(tree).
  bool visit(NodeVisitor& visitor) const;
  bool waiting(std::size_t group, QueueVisitor& visitor) const;

 private:
  const CacheState* state_;
};

}  // namespace canopy
