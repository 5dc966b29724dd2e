#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scene.h"

namespace canopy::inspector {

/// One column of the charts over time.
struct OverviewColumn {
  MirrorPool::Sums pages;
  std::uint64_t limit = 0;  ///< limit in pages; may be kUnlimited
  double hit_share = -1;    ///< share of hits in the prompts since the column before; < 0: there were no prompts
  double evicted = 0;       ///< tokens evicted since the column before
  std::uint64_t commit = 0, us = 0;
  std::uint64_t all() const { return pages.free + pages.evictable + pages.protected_ + pages.owned; }
};

/// All known moments, from a chart's left edge to its right: a recording as a whole, wherever its playhead is, or a
/// live feed from its first sample to its last. A position is a moment of the engine's own clock, so an idle hour is as
/// wide as a busy one. If the clock does not advance (everything happened at once), it is a commit.
class Overview {
 public:
  /// REQUIRES: the samples outlive it.
  explicit Overview(const std::vector<Sample>& samples);
  explicit Overview(const Scene& scene)
      : Overview(scene.time.whole.empty() ? scene.mirror.samples() : scene.time.whole) {}

  bool empty() const { return samples_.size() < 2; }
  bool by_clock() const { return by_clock_; }
  /// Returns the position of a commit, from 0 to 1.
  double share_of(std::uint64_t commit) const;
  std::uint64_t commit_at(double share) const;
  /// Returns the value of the axis at a position: microseconds of the engine's clock, or a commit.
  double value_at(double share) const { return first_ + share * (last_ - first_); }
  double share_of_value(double value) const { return last_ > first_ ? (value - first_) / (last_ - first_) : 0; }
  /// Returns columns of equal width. A column in which nothing happened has the pages of the one before.
  std::vector<OverviewColumn> columns(std::size_t group, std::size_t most) const;

 private:
  double value(const Sample& sample) const { return static_cast<double>(by_clock_ ? sample.us : sample.commit); }

  const std::vector<Sample>& samples_;
  bool by_clock_ = false;
  double first_ = 0, last_ = 0;
};

/// Returns the top of a scale that a single large column does not flatten: it fits most non-empty columns, not the
/// largest one. Larger columns are cut off and drawn with a mark.
double usual_most(const std::vector<OverviewColumn>& columns);

}  // namespace canopy::inspector
