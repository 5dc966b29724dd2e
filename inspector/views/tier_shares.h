#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <vector>

namespace canopy::inspector {

/// How much of each node the other tier has as well: a part from the node's begin on, since a prefix without its front
/// is no prefix. Neither tier's nodes know of the other tier, so this compares words; a feed without tokens does not
/// tell it.
class TierShares {
 public:
  /// For the nodes of `shown` in a group; `other` is the other tier's mirror, null if there is none. O(tokens), once
  /// for each moment.
  void update(const Mirror& shown, const Mirror* other, std::size_t group);
  /// Whether the feed tells it.
  bool known() const { return known_; }
  /// From 0, only the shown tier has the node, to 1, both have all of it.
  float of(std::uint32_t slot) const { return slot < shares_.size() ? shares_[slot] : 0; }
  /// The part of a node that has come from a storage: from 0, its begin, to 1, its end; empty: it is not known that any
  /// has. The pools' nodes have it from those of the tier below that are the same.
  struct Part {
    float from = 0, until = 0;
  };
  Part stored(std::uint32_t slot) const { return slot < stored_.size() ? stored_[slot] : Part{}; }

 private:
  const Mirror* shown_ = nullptr;
  std::uint64_t commits_ = ~std::uint64_t{0};
  std::size_t group_ = 0;
  bool known_ = false;
  std::vector<float> shares_;  ///< by slot
  std::vector<Part> stored_;   ///< by slot
};

}  // namespace canopy::inspector
