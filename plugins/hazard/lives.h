#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reuse_counts.h"

namespace canopy::hazard {

/// Intervals between uses (lives). A use of consecutive strides of a prompt in one class is one life of weight 1,
/// divided equally among its strides. So a long prompt counts as much as a short one, and strides that return together
/// are one observation.
///
/// A return is counted only when its bin is over. Before that, the weight that survives the bin is unknown, and young
/// ages would look far too good. A life therefore keeps the weight that returned in the bin of the latest return. The
/// next return, or `count`, counts the bins that are over by then. The time of these calls does not change the counts.
class Lives {
 public:
  using Id = std::uint64_t;  ///< increases by one with each life; never 0

  /// Begins a life of `strides` strides. REQUIRES, for all functions: `now` never decreases from call to call.
  Id begin(double now, std::size_t of_class, std::size_t strides);
  /// Returns the id that the next call of `begin` will return.
  Id next() const { return end_; }
  /// Records that one stride of the life is used again. Returns the time of its last use. Returns a negative number and
  /// does nothing if the life is over.
  double stride_returned(Id id, double now, ReuseCounts& counts);
  /// Counts all bins that are over, for all lives.
  void count(double now, ReuseCounts& counts);

 private:
  struct Life {
    double began = 0;
    float share = 0;      ///< weight of a stride
    float left = 0;       ///< weight that was not used again
    float returning = 0;  ///< weight that was used again, in `bin`
    std::uint16_t of_class = 0;
    std::uint16_t bin = 0;  ///< all bins before it are counted
  };
  /// Counts the bins before `bin`, in which the life is now.
  static void count_until(std::size_t bin, Life& life, ReuseCounts& counts);
  Life& at(Id id) { return ring_[id & (ring_.size() - 1)]; }
  void grow();

  std::vector<Life> ring_ = std::vector<Life>(256);  ///< size is a power of two
  Id first_ = 1, end_ = 1;
};

}  // namespace canopy::hazard
