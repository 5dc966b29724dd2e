#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <vector>

#include "inputs.h"

namespace canopy::inspector {

/// The part of each node that the other tier also contains. It starts at the node's beginning, because a prefix without
/// its front is no prefix. Nodes of one tier do not refer to the other tier, so this compares words, which needs a feed
/// with tokens.
class TierShares {
 public:
  /// Updates the parts for the nodes of `shown` in a group. `other` is the other tier's mirror. May be null (no other
  /// tier). O(tokens), once per moment.
  void update(const Mirror& shown, const Mirror* other, std::size_t group);
  /// Returns true if the feed contains the words, and there is another tier.
  bool known() const { return known_; }
  /// Returns the common share of a node: from 0 (only the shown tier has it) to 1 (both have all of it).
  float of(std::uint32_t slot) const { return slot < shares_.size() ? shares_[slot] : 0; }
  /// The part of a node that came from a storage, between 0 (the node's beginning) and 1 (its end). Empty: it is not
  /// known that any part did. Nodes of the pools take it from equal nodes of the tier below.
  struct Part {
    float from = 0, until = 0;
  };
  Part stored(std::uint32_t slot) const { return slot < stored_.size() ? stored_[slot] : Part{}; }

 private:
  Inputs<const Mirror*, std::uint64_t, std::size_t, bool> computed_;
  bool known_ = false;
  std::vector<float> shares_;  ///< shares by slot
  std::vector<Part> stored_;   ///< parts by slot
};

}  // namespace canopy::inspector
