#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reuse_counts.h"

namespace canopy::hazard {

/// What was used and may be used again. A use of consecutive strides of a prompt that are of one class is one life, of
/// weight 1, shared alike by its strides; so a long prompt counts as much as a short one, and what returns together is
/// one observation.
///
/// A return is counted only once its bin is over. Before that, what survives the bin is not known yet, and young ages
/// would look far too good. So a life keeps the weight that returned in the bin in which it is now, and when its age
/// passes the bin's end both numbers are counted.
class Lives {
 public:
  using Id = std::uint64_t;  ///< rises by one with each life; never 0

  Lives() { next_.fill(first_); }

  /// Begins a life of `strides` strides. `now` never falls from call to call, in all functions.
  Id begin(double now, std::size_t of_class, std::size_t strides);
  /// The id that the next call of `begin` returns.
  Id next() const { return end_; }
  /// One stride of the life is used again. When it was used last; a negative number, and nothing happens, if the life
  /// is over.
  double stride_returned(Id id, double now);
  /// Counts all bins that lives have passed.
  void pass(double now, ReuseCounts& counts);

 private:
  struct Life {
    double began = 0;
    std::uint32_t of_class = 0;
    float share = 0;      ///< weight of a stride
    float left = 0;       ///< weight that was not used again
    float returning = 0;  ///< weight that was, in the bin of its present age
  };
  Life& at(Id id) { return ring_[id & (ring_.size() - 1)]; }
  void grow();

  std::vector<Life> ring_ = std::vector<Life>(256);  ///< as many as a power of two
  Id first_ = 1, end_ = 1;
  double passed_ = 0;  ///< when
  // Of each bin the first life that has not passed it, and a time at which none has before: also of lives to come.
  // Lives pass in the order in which they began.
  std::array<Id, kBins> next_;
  std::array<double, kBins> due_{};
};

}  // namespace canopy::hazard
