#pragma once

#include <cstddef>

namespace canopy::inspector {

/// Keeps a list still while a user reads it: when it is scrolled, under the mouse, or contains the selected row.
/// Normally the newest rows appear at the top; meanwhile the list shows how many are new, and a click on that number
/// brings them.
class HeldList {
 public:
  /// Returns true if the rows must stay as they are. `selected`: true if one of them is selected.
  bool holds(bool moves, bool selected) const { return moves && !wanted_ && (scrolled_ || hovered_ || selected); }
  /// Reads the state of the list's window. Call it in each frame, in that window.
  void look();
  /// Draws "42 new" at the end of the current line. The place is reserved even if nothing is new.
  void draw_new(std::size_t count, const char* what = "new");
  /// Returns true once after a click has brought the new rows: the list then scrolls to the top.
  bool to_top() { return top_ ? top_ = false, true : false; }
  void listed() {
    if (wanted_) top_ = true;
    wanted_ = false;
  }

 private:
  bool scrolled_ = false, hovered_ = false, wanted_ = false, top_ = false;
};

}  // namespace canopy::inspector
