#pragma once

#include <imgui.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panel.h"
#include "timeline_spans.h"

namespace canopy::inspector {

/// Everything over time, on one axis that zooms from the whole past to one operation. A drag selects a range, for which
/// every panel then shows figures.
class TimelinePanel final : public Panel {
 public:
  void draw(Scene& scene) override;

  const TimeScale& scale() const { return scale_; }  ///< axis as it was last drawn
  const TrackArea& pool_track() const { return pool_; }
  const std::vector<TimeColumn>& columns() const { return columns_; }
  const TimelineSpans& spans() const { return spans_; }

 private:
  void draw_legend(Scene& scene);
  void draw_tracks(Scene& scene, const History& history, ImVec2 from, ImVec2 to);
  void handle_mouse(Scene& scene, const TimeAxis& axis, const RequestSpan* under);
  void zoom(Scene& scene, const TimeAxis& axis, double at, double factor) const;
  void update(const Scene& scene, const History& history, const TimeAxis& axis);
  const History& nearest(Scene& scene, const TimeAxis& axis) const;
  void draw_axis(const TimeAxis& axis, float top, float bottom) const;
  void draw_range(const Scene& scene, const TimeAxis& axis, float top, float bottom) const;
  void explain_column(const TrackInput& in, const TimeAxis& axis) const;

  TimeScale scale_;
  TrackArea pool_;
  TimelineSpans spans_;
  std::vector<TimeColumn> columns_;
  struct Made {
    const History* history = nullptr;
    std::uint64_t commits = 0;
    AxisBy by = AxisBy::clock;
    double from = 0, to = 0;
    std::size_t most = 0;
    std::optional<std::uint32_t> tenant;
    friend bool operator==(const Made&, const Made&) = default;
  };
  Made made_;
  std::optional<bool> by_tenant_;  ///< the pool's track; empty: by tenant if there are several
  std::optional<double> pressed_at_;
  bool dragging_ = false, panning_ = false;
};

/// Lets the time axis measure the next of its units. The window in sight keeps its commits.
void next_axis(Timeline& time);

}  // namespace canopy::inspector
