#pragma once

#include <memory>
#include <string>
#include <vector>

#include <shell/app.h>

namespace canopy::inspector {

/// A picture in memory, drawn by EGL without a display.
class Canvas {
 public:
  /// Makes a canvas. Returns null if no EGL can draw without a window; `why` then says what is missing.
  static std::unique_ptr<Canvas> make(int width, int height, std::string& why);
  virtual ~Canvas() = default;
  /// Draws one frame, with the state of mouse and keys in ImGuiIO.
  virtual void frame(App& app) = 0;
  /// Returns the RGB values of all pixels, row by row from the top left.
  virtual std::vector<unsigned char> pixels() = 0;
  virtual int width() const = 0;
  virtual int height() const = 0;
};

/// Writes a PNG file, completely or not at all. Returns the reason if it cannot be written; empty otherwise.
std::string write_png(const std::string& path, const std::vector<unsigned char>& rgb, int width, int height);

/// Saves the frame that OpenGL holds as a picture, if the user wants it.
void save_wanted_picture(App& app, int width, int height);

/// Shows the inspector in a window, and returns when the window is closed. Returns the reason if there is no window;
/// empty otherwise.
std::string show_in_window(App& app, const Settings& settings);

}  // namespace canopy::inspector
