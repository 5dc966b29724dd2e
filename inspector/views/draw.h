#pragma once

#include <imgui.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "palette.h"

namespace canopy::inspector {

/// What all panels are drawn with. Sizes are in ems, so that everything grows with the font.

inline float em() { return ImGui::GetFontSize(); }

struct Area {
  float x = 0, y = 0, width = 0, height = 0;
  ImVec2 from() const { return {x, y}; }
  ImVec2 to() const { return {x + width, y + height}; }
};

/// A panel with its title, at a fixed place; `note` stands beside the title, `help` explains it under the mouse. What
/// follows "##" in a title is not shown. end_panel() must follow.
void begin_panel(const char* title, const Area& area, std::string_view note = {}, std::string_view help = {});
void end_panel();

void text(std::string_view words);
void text(std::string_view words, ImU32 colour);
void dim(std::string_view words);
/// Right-aligned in what is left of a table's column.
void number(std::string_view digits);
/// The first row of a table. A number's head stands over its digits.
struct ColumnHead {
  const char* name;
  bool is_number = false;
};
void column_heads(std::initializer_list<ColumnHead> heads);
void wrapped(std::string_view words, ImU32 colour);
/// Lines of at most `width`, broken at spaces only: ImGui would break 34,267 after its comma as well.
std::string in_lines(std::string_view words, float width);
/// A tooltip for what was drawn last.
void explain(std::string_view words);
/// A label and its value, the values of a panel in one column at `column` ems.
void fact(const char* label, std::string_view value, float column = 7);
/// What a panel says while it has nothing to show: centred, dim.
void nothing_here(std::string_view sentence);

/// Words cut to a width, with "…" where something is missing; empty if not even that has room.
std::string fitted(std::string_view words, float width);
/// The first of several texts, longest first, for which label() has room in a box of this width; else the last.
std::string first_that_fits(std::initializer_list<std::string> ways, float width);
/// Words in a box of a drawing, cut to it.
void label(ImDrawList* list, ImVec2 from, ImVec2 to, std::string_view words, ImU32 colour, bool centred = false);

/// Diagonal lines over a box: up for protected, down for a tombstone, so that the hue is not needed.
void hatch(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, bool up, float step);
/// A box in the colour and pattern of a state, the same in the tree, the pool and the legend.
void state_box(ImDrawList* list, ImVec2 from, ImVec2 to, NodeState state);
/// A swatch and a word in a line of widgets.
void swatch(ImU32 colour, std::string_view word);
void swatch(NodeState state, std::string_view word);
/// The mark of what has come from a storage, along the lower edge of a box.
void storage_line(ImDrawList* list, ImVec2 from, ImVec2 to);
/// Its legend, behind that of the colours.
void storage_legend();
/// What the colours mean now.
void colour_legend(ColourBy by, const Mirror& mirror);

/// The next widget stands beside the last one, or, where its `width` has no room there, on a new line at `indent`.
void flow(float width, float indent);

bool button(const char* label, bool enabled = true);
/// For what cannot be taken back easily: true once, when it has been held down for kHoldSeconds. It has an outline, and
/// fills while it is held. Letting go or leaving it before does nothing. `width` 0: as wide as its label.
inline constexpr float kHoldSeconds = 0.7F;
bool hold_button(const char* label, bool chosen = false, float width = 0);
/// One of several choices side by side.
bool choice(const char* label, bool chosen);

}  // namespace canopy::inspector
