#pragma once

#include <cstddef>

namespace canopy::inspector {

/// A list whose newest rows come on top holds still while it is read: scrolled, under the mouse, or with a selected
/// row. It says how many rows are new then, and a click on that brings them.
class HeldList {
 public:
  /// Whether the rows must stay as they are. `selected`: one of them is.
  bool holds(bool moves, bool selected) const { return moves && !wanted_ && (scrolled_ || hovered_ || selected); }
  /// In the list's window, each frame.
  void look();
  /// "42 new" at the end of the line that is being drawn. The place is there whether anything is new or not.
  void draw_new(std::size_t count, const char* what = "new");
  /// The rows are new ones: to the top.
  bool to_top() { return top_ ? top_ = false, true : false; }
  void listed() {
    if (wanted_) top_ = true;
    wanted_ = false;
  }

 private:
  bool scrolled_ = false, hovered_ = false, wanted_ = false, top_ = false;
};

}  // namespace canopy::inspector
