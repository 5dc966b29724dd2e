#pragma once

#include <chrono>

#include <views/draw.h>
#include <views/scene.h>

namespace canopy::inspector {

/// What stands in the window while a recording is read: how far it is, how long it will take, and a button that stops.
class Loading {
 public:
  /// True when a person wants it to stop.
  bool draw(const Session& session, const Area& area);
  /// Middle of the button, if it was drawn last time.
  bool middle_of_stop(ImVec2& at) const { return at = stop_, stop_.x > 0; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point began_{};
  double done_at_begin_ = 0, last_ = 2;
  ImVec2 stop_{};
};

}  // namespace canopy::inspector
