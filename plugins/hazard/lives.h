#pragma once

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
/// would look far too good. So a life keeps the weight that returned in the bin in which a return was seen last. With
/// the next return, or with `count`, the bins that are over since then are counted. When that is changes no count.
class Lives {
 public:
  using Id = std::uint64_t;  ///< rises by one with each life; never 0

  /// Begins a life of `strides` strides. `now` never falls from call to call, in all functions.
  Id begin(double now, std::size_t of_class, std::size_t strides);
  /// The id that the next call of `begin` returns.
  Id next() const { return end_; }
  /// One stride of the life is used again. When it was used last; a negative number, and nothing happens, if the life
  /// is over.
  double stride_returned(Id id, double now, ReuseCounts& counts);
  /// Counts all bins that are over, of all lives.
  void count(double now, ReuseCounts& counts);

 private:
  struct Life {
    double began = 0;
    float share = 0;      ///< weight of a stride
    float left = 0;       ///< weight that was not used again
    float returning = 0;  ///< weight that was, in `bin`
    std::uint16_t of_class = 0;
    std::uint16_t bin = 0;  ///< all before it are counted
  };
  /// Counts the bins before `bin`, in which the life is now.
  static void count_until(std::size_t bin, Life& life, ReuseCounts& counts);
  Life& at(Id id) { return ring_[id & (ring_.size() - 1)]; }
  void grow();

  std::vector<Life> ring_ = std::vector<Life>(256);  ///< as many as a power of two
  Id first_ = 1, end_ = 1;
};

}  // namespace canopy::hazard
