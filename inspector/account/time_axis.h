#pragma once

#include "history.h"

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::inspector {

/// Positions in the past of a feed: microseconds of the engine's clock, so that an idle hour is as wide as a busy one;
/// or commits, if the clock does not advance because everything happened at once.
class TimeAxis {
 public:
  /// REQUIRES: the history outlives it.
  explicit TimeAxis(const History& history);
  /// Returns the axis of a part of the same past, with the same positions.
  TimeAxis of(const History& part) const;

  bool by_clock() const { return by_clock_; }
  double first() const { return first_; }
  double last() const { return last_; }
  /// Returns the position of the end of a commit. Commits of one bucket are evenly spaced.
  double value_of(std::uint64_t commit) const;
  double value_of(const HistoryMoment& moment) const {
    return static_cast<double>(by_clock_ ? moment.us : moment.commit);
  }
  /// Returns the commit nearest to a position.
  std::uint64_t commit_at(double value) const;
  /// Returns the start of a bucket: the end of the one before.
  double begin_of(std::size_t bucket) const;
  double end_of(std::size_t bucket) const;

  struct Mark {
    double value;
    std::string words;
  };
  /// Returns round positions within a window, at most `most`, with their names: "30 s", "commit 1,024".
  std::vector<Mark> marks(double from, double to, std::size_t most) const;
  /// Returns a length of the axis in words: "1.2 s", "318 commits".
  std::string length_words(double length) const;

 private:
  TimeAxis(const History& history, bool by_clock);

  const History& history_;
  bool by_clock_ = false;
  double first_ = 0, last_ = 0;
};

}  // namespace canopy::inspector
