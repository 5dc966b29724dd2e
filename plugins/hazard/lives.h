#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reuse_tree.h"

namespace canopy::hazard {

/// The interval between two uses of consecutive strides of a prompt in one group. It has the weight 1, divided equally
/// among its strides: a long prompt counts as much as a short one, and strides that return together are one
/// observation.
struct Life {
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  double began = 0;
  float share = 0;                 ///< weight of a stride
  float left = 0;                  ///< weight that was not used again
  float returning = 0;             ///< weight that was used again, in `bin`
  float tokens = 0;                ///< tokens that were not used again
  float worth = 1;                 ///< worth of a hit, compared with others
  std::uint32_t place = kNowhere;  ///< in the duel's pool that evicts by the index
  ReuseTree::Group group = 0;
  std::uint8_t bin = 0;  ///< all bins before it are counted
  bool goes_on = false;  ///< true if the next life is of the same request, deeper
};

/// The lives of the last eight turnovers. A return is counted only when its bin is over: before that, the weight that
/// survives the bin is unknown, and young ages would look far too good. A life therefore keeps the weight that returned
/// in the bin of the latest return. The next return, or `count`, counts the bins that are over by then. The time of
/// these calls does not change the counts.
class Lives {
 public:
  using Id = std::uint64_t;  ///< increases by one with each life; never 0

  explicit Lives(ReuseTree& tree) : tree_(tree) {}
  /// Begins a life of `strides` strides and `tokens` tokens; without a stride it is not counted. REQUIRES, for all
  /// functions: `now` never decreases from call to call.
  Life& begin(double now, ReuseTree::Group group, std::size_t strides, double tokens);
  /// Records that one stride of the life is used again. Returns the tokens that leave it: with its last stride, all
  /// that are left. REQUIRES: knows(id).
  float stride_returned(Id id, double now);
  /// Counts all bins that are over, for all lives, and forgets those that are older than all bins.
  void count(double now);

  Id first() const { return first_; }
  Id next() const { return end_; }  ///< the id that `begin` will give
  bool knows(Id id) const { return id >= first_ && id < end_; }
  /// Returns a life. It is still there when `count` has just forgotten it.
  Life& operator[](Id id) { return ring_[id & (ring_.size() - 1)]; }

 private:
  void count_until(std::size_t bin, Life& life);

  ReuseTree& tree_;
  std::vector<Life> ring_ = std::vector<Life>(256);  ///< size is a power of two
  Id first_ = 1, end_ = 1;
};

}  // namespace canopy::hazard
