#pragma once

#include "lives.h"

namespace canopy::hazard {

/// Decides whether the real pool follows the index or lru. Beside it are two pools as large that hold only the names of
/// lives: one evicts in lru's order, the other by the index. Each request is looked up in both, and the difference of
/// their hits is evidence. The order in use is changed when the evidence against it, counted since it was last none,
/// exceeds
///
///   limit = min(1.5 * sqrt(sum of squared differences), capacity / 5 + 0.3 % of lru's hits)
///
/// The index is in use at first, as soon as lru's pool misses 0.02 % of what it hits. To return it needs the limit
/// once, then twice, four times, up to 16 times.
///
/// So with the index in use the pool falls behind lru's by one limit, and a change costs at most the tokens that the
/// two pools do not share. It can fall behind again only after the index was ahead, in its pool, by more than the last
/// time.
class Duel {
 public:
  Duel(Lives& lives, ReuseTree& tree) : lives_(lives), tree_(tree) {}

  /// Looks up a stride of a request's prompt, the first one first, and takes it out of its life and both pools.
  void look_up(Lives::Id life, double now);
  /// Puts a new life into both pools.
  void put(Lives::Id life);
  /// Ends a request: evicts from both pools until each holds at most `capacity` tokens, and decides.
  void end_request(double capacity, double now);
  /// Divides old evidence, and lets forgotten lives leave.
  void fade(double part);
  void clear();
  /// Returns true if lru's order is in use.
  bool lru_rules() const;

 private:
  void evict_by_index(double now);
  void leave(Lives::Id life);

  Lives& lives_;
  ReuseTree& tree_;
  Lives::Id oldest_ = 1;         ///< lru's pool holds the lives from this one on
  std::vector<Lives::Id> held_;  ///< by the pool that evicts by the index
  double lru_tokens_ = 0, index_tokens_ = 0;
  std::uint64_t random_ = 1;
  bool lru_has_ = true, index_has_ = true;              ///< all strides of the request so far
  double lru_hit_ = 0, index_hit_ = 0;                  ///< tokens of the request
  double lru_hits_ = 0, lru_missed_ = 0, squares_ = 0;  ///< they fade
  double against_ = 0, patience_ = 1;  ///< evidence against the order in use; limits that bring the index back
  bool lru_rules_ = false;
};

}  // namespace canopy::hazard
