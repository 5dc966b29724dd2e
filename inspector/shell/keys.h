#pragma once

#include <imgui.h>

#include <array>
#include <span>
#include <string>

namespace canopy::inspector {

class App;

/// Something that a key does, in a few words. It is also a line of the list of commands.
struct KeyCommand {
  const char* words = nullptr;  ///< null: none
  void (*act)(App& app) = nullptr;
  char character = 0;               ///< 0: a named key
  ImGuiKey named = ImGuiKey_COUNT;  ///< an arrow, Enter, Home ...
};

/// A line of the sheet of keys. docs/inspector.md has the same lines.
struct KeyLine {
  const char* keys;
  /// Up to two commands, for keys that belong together. None: `words` says what the mouse, or the system, does.
  std::array<KeyCommand, 2> commands{};
  const char* words = "";    ///< before those of the commands
  bool at_any_time = false;  ///< true if it also works while there is no feed yet

  std::string help() const;
};
std::span<const KeyLine> key_lines();

/// Handles a character: that of a command above, or the key of a panel or tab.
void press_character(App& app, unsigned character);
/// Handles the named keys that were pressed in this frame.
void press_named_keys(App& app);

/// Draws the sheet that `?` opens: the keys, and the panels with their keys.
void draw_key_sheet(const App& app);

}  // namespace canopy::inspector
