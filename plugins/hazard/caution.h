#pragma once

#include "lru_twin.h"

namespace canopy::hazard {

/// Controls how closely hazard follows lru's order: the index of a token is divided by age^caution. With caution 0 only
/// the index counts; with caution 4 the order is nearly lru's.
///
/// Caution depends on past results. A hit on tokens that lru would have evicted counts as tokens ahead of lru; a miss
/// on tokens that lru would still hold counts as tokens behind:
///
///   caution = min(4, 0.5 * exp(-ahead / (0.01 * (hits + 4 * capacity))))
///
/// Until the counts are ripe, caution is 0.1, because gains come later than losses and young counts prove neither. Then
/// `ahead` starts at a fifth of the capacity, so hazard tries its own order until it has lost that many tokens.
class Caution {
 public:
  /// Counts a request for tokens of a known prefix: a hit or a miss.
  void asked(bool hit, double tokens, double last_use, const LruTwin::Oldest& lru) {
    if (hit) hits_ += tokens;
    if (hit && lru.is_gone(last_use)) ahead_ += tokens;
    if (!hit && lru.is_held(last_use)) ahead_ -= tokens;
  }
  /// Multiplies the counts by `part`.
  void fade(double part) { hits_ *= part, ahead_ *= part; }
  /// Returns the caution, from 0 to 4, in a pool of `capacity` tokens. `ripe`: the counts are old enough; discards what
  /// was counted here before they were. REQUIRES: capacity > 0 if ripe.
  double of(double capacity, bool ripe);

 private:
  double hits_ = 0, ahead_ = 0;  ///< tokens; both fade
  bool tried_ = false;
};

}  // namespace canopy::hazard
