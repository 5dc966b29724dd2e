#pragma once

#include "lru_twin.h"

namespace canopy::hazard {

/// How far hazard keeps to the order of lru: what it expects of a token is divided by the token's age to the power of
/// the caution. At 0 only what it expects counts, at 4 the order is nearly lru's.
///
/// Caution follows from what came of it. A hit on what lru would have evicted is a token ahead of lru, a miss of what
/// lru would still have is one behind. The more hazard is ahead, the less its caution. It begins with little caution:
/// gains come later than losses, and young counts say nothing of either. Once counts are ripe, hazard tries its own
/// order: until it has lost a fifth of the pool's tokens, or for as long as it is ahead.
class Caution {
 public:
  /// Tokens of a prefix that was known were asked for, and were found or not.
  void asked(bool hit, double tokens, double last_use, const LruTwin::Oldest& lru) {
    if (hit) hits_ += tokens;
    if (hit && lru.is_gone(last_use)) ahead_ += tokens;
    if (!hit && lru.is_held(last_use)) ahead_ -= tokens;
  }
  /// What was counted becomes `part` of what it is.
  void fade(double part) { hits_ *= part, ahead_ *= part; }
  /// The caution, from 0 to 4, in a pool of `capacity` tokens. `ripe`: the counts are old enough; what was counted here
  /// before they are is forgotten. REQUIRES: capacity > 0 if ripe.
  double of(double capacity, bool ripe);

 private:
  double hits_ = 0, ahead_ = 0;  ///< tokens, which fade
  bool tried_ = false;
};

}  // namespace canopy::hazard
