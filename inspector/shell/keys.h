#pragma once

#include <span>
#include <string_view>

namespace canopy::inspector {

class App;

/// A line of the sheet of keys, and the action of its characters. docs/inspector.md has the same lines.
struct KeyLine {
  const char *keys, *help;
  std::string_view characters = {};  ///< characters that call `press`; arrows, Enter and Esc are not characters
  void (*press)(App& app, char character) = nullptr;
  bool at_any_time = false;  ///< true if it also works while there is no feed yet
};
std::span<const KeyLine> key_lines();

/// Handles a character: that of a line above, or the key of a panel or tab.
void press_character(App& app, unsigned character);
/// Handles those of the keys arrows, Home, End, Page Up, Page Down, Enter and Esc that were pressed in this frame.
void press_named_keys(App& app);

/// Draws the sheet that `?` opens: the keys, and the panels with their keys.
void draw_key_sheet();

}  // namespace canopy::inspector
