#pragma once

#include <imgui.h>
#include <views/screen_text.h>

#include <string>
#include <vector>

namespace canopy::test {

/// The letters of a frame, and searches in them.
class Ink : public inspector::ScreenText {
 public:
  /// All lines, from top to bottom of each window, apart by line breaks.
  std::string text() const;
  bool has(const std::string& words) const { return text().find(words) != std::string::npos; }
  /// The line that has these words; null if there is none.
  const Line* find(const std::string& words) const;
  /// The colours of what is drawn over a place, in order.
  static std::vector<ImU32> paint_at(ImVec2 at);
  /// Lines that are printed over another one in the same window, as "this / that".
  std::vector<std::string> overprinted() const;
  /// Lines that are cut off at their left or right side.
  std::vector<std::string> cut() const;
};

}  // namespace canopy::test
