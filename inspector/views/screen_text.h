#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "draw.h"

namespace canopy::inspector {

/// The letters of the frame that was rendered last, read back from its triangles: what a person sees of it.
class ScreenText {
 public:
  struct Letter {
    ImVec2 from, to;  ///< corners of its quad, before it is clipped
    ImVec4 clip;
    ImU32 colour = 0;
    ImWchar character = 0;
    std::size_t list = 0;  ///< number of its window
  };
  /// A line of letters that stand side by side.
  struct Line {
    std::string text;
    ImVec2 from, to;
    ImVec4 clip;
    ImU32 colour = 0;
    std::size_t list = 0;
  };
  /// REQUIRES: ImGui::Render was called, and ImGui::NewFrame not since.
  ScreenText();

  const std::vector<Line>& lines() const { return lines_; }
  /// Returns the text of a part of the screen as it stands there, without tooltips: rows from top to bottom, with a tab
  /// between lines that stand beside each other.
  std::string text_in(const Area& area) const;

 private:
  std::vector<Letter> letters_;
  std::vector<Line> lines_;
};

}  // namespace canopy::inspector
