#pragma once

#include <account/bucket.h>

#include <cstdint>
#include <vector>

#include "scene.h"

namespace canopy::inspector {

/// A table of tenants that lost tokens because another one needed room, in the range or the whole time: tenants with
/// shares or, if none has a share, namespaces.
class EvictedFor {
 public:
  /// Sums the pairs again if the past or the range has changed. Returns true if it did.
  bool update(const Scene& scene);
  /// Draws the rest of the panel.
  void draw(const Scene& scene) const;
  const std::vector<PaidTokens>& pairs() const { return pairs_; }  ///< most tokens first

 private:
  std::uint64_t commits_ = ~std::uint64_t{0}, version_ = 0;
  std::vector<PaidTokens> pairs_;
  std::uint64_t all_ = 0, other_ = 0;  ///< tokens; other: by pairs that are not known apart
};

}  // namespace canopy::inspector
