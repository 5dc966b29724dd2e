#include "frame_pace.h"

#include <imgui.h>

#include <algorithm>

namespace canopy::inspector {

bool FramePace::busy(const App& app) const {
  return app.loading() || app.time().playing || ImGui::IsMouseDown(ImGuiMouseButton_Left) || frames_ > 0;
}

bool FramePace::due(const App& app, double now) {
  // Draws regularly in any case: a cursor blinks, and the list of feeds changes by itself.
  constexpr double kAtLeastEvery = 0.5;
  const double blink = ImGui::GetIO().WantTextInput ? 0.1 : kAtLeastEvery;
  if (!busy(app) && changes_ == app.changes() && now - drawn_ < blink) return false;
  drawn_ = now, changes_ = app.changes();
  if (frames_ > 0) --frames_;
  return true;
}

std::chrono::milliseconds reading_time(const App& app, std::chrono::milliseconds frame_took) {
  using std::chrono::milliseconds;
  if (app.loading()) return std::clamp(4 * frame_took, milliseconds(250), milliseconds(2000));
  return milliseconds(app.time().seekable && !app.time().live ? 100 : 10);
}

}  // namespace canopy::inspector
