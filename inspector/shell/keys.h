#pragma once

#include <span>
#include <string_view>

namespace canopy::inspector {

class App;

/// A line of the sheet of keys, and what its characters do. docs/inspector.md has the same lines.
struct KeyLine {
  const char *keys, *help;
  std::string_view characters = {};  ///< that `press` is called for; arrows, Enter and Esc are not characters
  void (*press)(App& app, char character) = nullptr;
  bool at_any_time = false;  ///< also while there is no feed yet
};
std::span<const KeyLine> key_lines();

/// What a character does: a line above, or a panel or tab with this key.
void press_character(App& app, unsigned character);
/// What the arrows, Home, End, Page Up, Page Down, Enter and Esc do that are down in this frame.
void press_named_keys(App& app);

/// The sheet that `?` opens: keys, and panels with theirs.
void draw_key_sheet();

}  // namespace canopy::inspector
