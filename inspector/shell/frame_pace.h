#pragma once

#include <cstdint>

#include "app.h"

namespace canopy::inspector {

/// Decides which frames are drawn, so that an inspector in which nothing happens costs nothing.
class FramePace {
 public:
  /// Call at every input: ImGui settles its layout in the frames after it.
  void wake() { frames_ = kFrames; }
  /// Returns true while frames follow each other without a pause: after an input, while a button is held, while a
  /// recording is read or played.
  bool busy(const App& app) const;
  /// Returns true if a frame must be drawn at this time, in seconds of any clock. Counts it as drawn.
  bool due(const App& app, double now);

 private:
  static constexpr int kFrames = 4;
  int frames_ = kFrames;
  double drawn_ = 0;
  std::uint64_t changes_ = ~std::uint64_t{0};
};

/// Returns the time that App::pump may take before the next frame: a near moment of a recording is reached within it;
/// for a distant one a bar is shown, and reading gets four times the duration of a frame with the bar.
std::chrono::milliseconds reading_time(const App& app, std::chrono::milliseconds frame_took);

}  // namespace canopy::inspector
