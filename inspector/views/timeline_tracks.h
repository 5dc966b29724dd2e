#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <vector>

#include "scene.h"
#include "time_columns.h"

namespace canopy::inspector {

/// Part of the time axis between two edges of the screen.
struct TimeScale {
  double from = 0, to = 1;    ///< positions on the axis
  float left = 0, right = 1;  ///< pixels
  float x_of(double value) const { return left + (right - left) * static_cast<float>((value - from) / (to - from)); }
  double value_at(float x) const { return from + (to - from) * static_cast<double>((x - left) / (right - left)); }
};

/// A track's place on the screen: its charts are within the scale's edges, its words to the left of them.
struct TrackArea {
  float words = 0;  ///< left edge of the words
  float top = 0, bottom = 0;
  float height() const { return bottom - top; }
};

/// Input of all tracks.
struct TrackInput {
  const Scene& scene;
  const History& history;  ///< the past that the columns are made of: all of it, or a part that was read again
  TimeScale scale;
  const std::vector<TimeColumn>& columns;
  const TimeColumn* at = nullptr;  ///< column under the mouse; may be null (none)
};

/// Content of the idle part of a column, in which no operation ended.
enum class InIdle : std::uint8_t {
  goes_on,  ///< a state: it lasts
  faint,    ///< a ratio: what it was after that time
  nothing,  ///< a count
};

/// A column on the screen, cut to the scale's edges.
class ColumnPieces {
 public:
  ColumnPieces(const TimeScale& scale, const TimeColumn& column, InIdle in_idle);
  /// Fills it between two heights.
  void fill(float top, float bottom, ImU32 colour) const;

 private:
  InIdle in_idle_;
  bool has_idle_ = false;
  float x0_ = 0, x1_ = 0, idle0_ = 0, idle1_ = 0;
};

/// Draws the background of a track, its name and a line of words below the name.
void draw_track(const TrackInput& in, const TrackArea& area, const char* name, const std::string& words, ImU32 colour);

/// The share of prompt tokens that were found, and why the rest was not.
void draw_rate(const TrackInput& in, const TrackArea& area);
/// The pool's pages by state, or the tree's tokens by namespace.
void draw_pool(const TrackInput& in, const TrackArea& area, bool by_tenant);
/// Evicted tokens by cause.
void draw_evictions(const TrackInput& in, const TrackArea& area);
/// Tokens from the tiers below upwards, and to them downwards.
void draw_traffic(const TrackInput& in, const TrackArea& area);
/// One kind of traffic between the tiers.
void draw_lane(const TrackInput& in, const TrackArea& area, Traffic which, ImU32 colour);
/// Opacity of the cover over what was drawn of a time with damaged events.
inline constexpr float kDoubted = 0.45F;
/// Covers and hatches the times of which events were lost, and dims and hatches everything from the first damaged
/// commit on.
void draw_doubtful_time(const Timeline& time, const TimeAxis& axis, const TimeScale& scale, float top, float bottom);
/// Policy, limit, flush, lost events, servers that came and went, and the user's notes. Returns the mark under the
/// mouse in words; empty if there is none.
std::string draw_marks(const TrackInput& in, const TrackArea& area);

/// Returns the pages at the upper edge of the pool's chart: the largest size or limit in the past.
std::uint64_t pool_top(const History& history, std::size_t group);

}  // namespace canopy::inspector
