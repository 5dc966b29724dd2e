#pragma once

#include <chrono>

#include <views/draw.h>
#include <views/scene.h>

namespace canopy::inspector {

/// The content of the window while a recording is read: the progress, the remaining time, and a button to stop.
class Loading {
 public:
  /// Draws it. Returns true when the user wants to stop.
  bool draw(const Session& session, const Area& area);
  /// Gets the middle of the button. Returns false if it was not drawn last time.
  bool middle_of_stop(ImVec2& at) const { return at = stop_, stop_.x > 0; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point began_{};
  double done_at_begin_ = 0, last_ = 2;
  ImVec2 stop_{};
};

}  // namespace canopy::inspector
