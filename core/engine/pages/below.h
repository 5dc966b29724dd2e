#pragma once

#include <canopy/prefix_index.h>

#include "guard/hot_path.h"

namespace canopy {

/// What the pools and the index tell the tier below them. It is called between calls of the index.
class Below {
 public:
  /// What an eviction is told of; null: nothing.
  virtual LeavingVisitor* leaving() = 0;
  /// The eviction has ended, and the pages that left are not free yet: their bytes may still be copied.
  virtual void left() = 0;
  /// The request's lock covers all of `key` now, because it inserted some of it.
  virtual void inserted(const Key& key, const Lock& lock, std::int32_t priority) = 0;
  /// Watches the paths of requests that end; null: it does not.
  virtual HotPath* watches() = 0;
  /// A request with these tokens' words has ended, and given back what it held.
  virtual void ended(const Key& key, std::int32_t priority) = 0;
  /// What is there of a namespace is unwanted.
  virtual void flushed(NamespaceId space) = 0;

 protected:
  ~Below() = default;
};

}  // namespace canopy
