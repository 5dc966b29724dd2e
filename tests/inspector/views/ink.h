#pragma once

#include <imgui.h>

#include <string>
#include <vector>

namespace canopy::test {

/// The letters of the frame that was computed last, read back from its triangles: what a person would see of it.
class Ink {
 public:
  struct Letter {
    ImVec2 from, to;  ///< of its quad, before it is clipped
    ImVec4 clip;
    ImU32 colour = 0;
    ImWchar character = 0;
    std::size_t list = 0;  ///< its window
  };
  /// A line of letters that stand side by side.
  struct Line {
    std::string text;
    ImVec2 from, to;
    ImVec4 clip;
    ImU32 colour = 0;
    std::size_t list = 0;
  };
  Ink();

  const std::vector<Line>& lines() const { return lines_; }
  /// All lines, from top to bottom of each window, apart by line breaks.
  std::string text() const;
  bool has(const std::string& words) const { return text().find(words) != std::string::npos; }
  /// The line that has these words; null if there is none.
  const Line* find(const std::string& words) const;
  /// Lines that are printed over another one in the same window, as "this / that".
  std::vector<std::string> overprinted() const;
  /// Lines that are cut off at their left or right side.
  std::vector<std::string> cut() const;

 private:
  std::vector<Letter> letters_;
  std::vector<Line> lines_;
};

}  // namespace canopy::test
