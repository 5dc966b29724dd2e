#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scene.h"

namespace canopy::inspector {

/// A column of the charts over time.
struct OverviewColumn {
  MirrorPool::Sums pages;
  std::uint64_t limit = 0;  ///< pages; kUnlimited
  double hit_share = -1;    ///< of the prompts since the column before; < 0: there were none
  double evicted = 0;       ///< tokens since the column before
  std::uint64_t commit = 0, us = 0;
  std::uint64_t all() const { return pages.free + pages.evictable + pages.protected_ + pages.owned; }
};

/// All that is known over time, from the left edge of a chart to its right: a recording as a whole, wherever its
/// playhead is; a live feed from the first sample to the last. A place between is a moment of the engine's own clock,
/// so that an idle hour is as wide as a busy one; where the clock does not tell (all at once), it is a commit.
class Overview {
 public:
  /// REQUIRES: the samples outlive it.
  explicit Overview(const std::vector<Sample>& samples);
  explicit Overview(const Scene& scene)
      : Overview(scene.time.whole.empty() ? scene.mirror.samples() : scene.time.whole) {}

  bool empty() const { return samples_.size() < 2; }
  bool by_clock() const { return by_clock_; }
  /// Where a commit is, from 0 to 1.
  double share_of(std::uint64_t commit) const;
  std::uint64_t commit_at(double share) const;
  /// What the axis says there: microseconds of the engine's clock, or a commit.
  double value_at(double share) const { return first_ + share * (last_ - first_); }
  double share_of_value(double value) const { return last_ > first_ ? (value - first_) / (last_ - first_) : 0; }
  /// Columns of equal width. One in which nothing happened has the pages of the one before.
  std::vector<OverviewColumn> columns(std::size_t group, std::size_t most) const;

 private:
  double value(const Sample& sample) const { return static_cast<double>(by_clock_ ? sample.us : sample.commit); }

  const std::vector<Sample>& samples_;
  bool by_clock_ = false;
  double first_ = 0, last_ = 0;
};

/// A scale that one column does not flatten: most of the columns that have something, not the largest. What is larger
/// is cut off, and drawn with a mark.
double usual_most(const std::vector<OverviewColumn>& columns);

}  // namespace canopy::inspector
