#pragma once

#include "history.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace canopy::inspector {

/// The unit of a time axis. `clock`: the engine's clock, so that an idle hour is as wide as a busy one. The others:
/// requests that were admitted, or the tokens of their prompts, so that an idle hour has no width.
enum class AxisBy : std::uint8_t { clock, requests, prompts };
inline constexpr std::array<const char*, 3> kAxisNames = {"clock", "requests", "prompt tokens"};

/// Positions in the past of a feed: microseconds of the engine's clock, requests, or prompt tokens. It measures commits
/// if nothing else advances, because everything happened at once. It begins with the first operation.
class TimeAxis {
 public:
  /// Measures by the clock if the feed has no requests. REQUIRES: the history outlives it.
  explicit TimeAxis(const History& history, AxisBy by = AxisBy::clock);
  /// Returns the axis of a part of the same past, with the same positions. REQUIRES: the part begins with a bucket of
  /// the whole.
  TimeAxis of(const History& part) const;

  bool by_clock() const { return unit_ == Unit::clock; }
  /// Returns what it measures, in a word beside its marks; empty for the clock, whose marks have units.
  const char* unit_word() const;
  /// Returns the least length that is worth to be seen alone: about four operations.
  double least() const { return by_clock() ? 4 : 8; }
  double first() const { return first_; }
  double last() const { return last_; }
  /// Returns the position of the end of a commit. Commits of one bucket are evenly spaced.
  double value_of(std::uint64_t commit) const;
  double value_of(const HistoryMoment& moment) const {
    return by_clock() ? static_cast<double>(moment.us) : value_of(moment.commit);
  }
  /// Returns the commit nearest to a position; the first of several at the same position.
  std::uint64_t commit_at(double value) const;
  /// Returns the start of a bucket: the end of the one before.
  double begin_of(std::size_t bucket) const { return bucket > 0 ? ends_[bucket - 1] : first_; }
  double end_of(std::size_t bucket) const { return ends_[bucket]; }

  struct Mark {
    double value;
    std::string words;
  };
  /// Returns round positions within a window, at most `most`, with their names: "30 s", "commit 1,024".
  std::vector<Mark> marks(double from, double to, std::size_t most) const;
  /// Returns a length of the axis in words: "1.2 s", "318 commits".
  std::string length_words(double length) const;
  /// Returns a position in words: "1.2 s after the start", "after 318 requests".
  std::string position_words(double value) const;

 private:
  enum class Unit : std::uint8_t { clock, commits, requests, prompts };
  static Unit unit_of(const History& history, AxisBy by);
  /// `begin`: position at which the history begins, for requests and prompt tokens.
  TimeAxis(const History& history, Unit unit, double begin);

  const History& history_;
  Unit unit_ = Unit::clock;
  double first_ = 0, last_ = 0;
  std::vector<double> ends_;  ///< by bucket
};

}  // namespace canopy::inspector
