#pragma once

#include <account/bucket.h>
#include <mirror/listings.h>

#include <cstdint>
#include <vector>

#include "inputs.h"
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
  Inputs<std::uint64_t, std::uint64_t> summed_;
  std::vector<PaidTokens> pairs_;
  std::vector<Payment> rows_;          ///< the same with names, and all other pairs last
  std::uint64_t all_ = 0, other_ = 0;  ///< tokens; other: by pairs that are not known apart
};

}  // namespace canopy::inspector
