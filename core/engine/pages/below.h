#pragma once

#include <canopy/prefix_index.h>

namespace canopy {

/// Events of the pools and the index for the tier below them. They are sent between calls of the index.
class Below {
 public:
  /// Returns the visitor of evicted nodes. May be null (no visitor).
  virtual LeavingVisitor* leaving() = 0;
  /// The eviction has ended. The evicted pages are not free yet: their bytes may still be copied.
  virtual void left() = 0;
  /// A request inserted part of `key`. Its lock now covers all of `key`.
  virtual void inserted(const Key& key, const Lock& lock, std::int32_t priority) = 0;
  /// A namespace was flushed: drop its copies.
  virtual void flushed(NamespaceId space) = 0;

 protected:
  ~Below() = default;
};

}  // namespace canopy
