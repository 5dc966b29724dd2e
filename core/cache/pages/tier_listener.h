#pragma once

#include <canopy/prefix_index.h>

namespace canopy {

/// Receives what happens in a cache, for the tier below it. All calls are made between calls of the index. No call
/// throws: what the tier has no memory to keep, it drops and counts.
class TierListener {
 public:
  /// Returns the visitor of the nodes that an eviction removes. May be null (the tier does not copy them).
  virtual LeavingVisitor* eviction_visitor() = 0;
  /// An eviction has ended. The evicted pages are not free yet: their bytes may still be copied.
  virtual void evicted() noexcept = 0;
  /// A request inserted part of `key`. Its lock now covers all of `key`.
  virtual void inserted(const Key& key, const Lock& lock, std::int32_t priority) noexcept = 0;
  /// A namespace is about to be flushed: drop its copies, and release the locks on its nodes that protect no memory.
  virtual void flushed(NamespaceId space) noexcept = 0;

 protected:
  ~TierListener() = default;
};

}  // namespace canopy
