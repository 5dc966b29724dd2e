#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app.h"

namespace canopy::inspector {

/// A picture in memory, drawn by EGL without a display.
class Canvas {
 public:
  /// Null if no EGL can draw without a window; `why` says what is missing.
  static std::unique_ptr<Canvas> make(int width, int height, std::string& why);
  virtual ~Canvas() = default;
  /// Draws one frame, with the mouse and the keys that ImGuiIO has.
  virtual void frame(App& app) = 0;
  /// RGB, the upper left pixel first.
  virtual std::vector<unsigned char> pixels() = 0;
  virtual int width() const = 0;
  virtual int height() const = 0;
};

/// Empty, or why the file could not be written. Half a picture does not stay.
std::string write_png(const std::string& path, const std::vector<unsigned char>& rgb, int width, int height);

/// Shows the inspector in a window and returns when it is closed. Empty, or why there is no window.
std::string show_in_window(App& app, const Settings& settings);

}  // namespace canopy::inspector
