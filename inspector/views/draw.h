#pragma once

#include <imgui.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "palette.h"

namespace canopy::inspector {

/// Widgets that all panels share. Sizes are in ems, so that everything scales with the font.

inline float em() { return ImGui::GetFontSize(); }

struct Area {
  float x = 0, y = 0, width = 0, height = 0;
  ImVec2 from() const { return {x, y}; }
  ImVec2 to() const { return {x + width, y + height}; }
};

/// Begins a panel at a fixed place. `note` stands beside the title; `help` is the title's tooltip. Text after "##" in a
/// title is not shown. Call end_panel() afterwards.
void begin_panel(const char* title, const Area& area, std::string_view note = {}, std::string_view help = {});
void end_panel();

void text(std::string_view words);
void text(std::string_view words, ImU32 colour);
void dim(std::string_view words);
/// Draws digits right-aligned in the rest of a table's column.
void number(std::string_view digits);
void wrapped(std::string_view words, ImU32 colour);
/// Breaks a text into lines of at most `width` pixels, only at spaces: ImGui would also break 34,267 after its comma.
std::string in_lines(std::string_view words, float width);
/// Shows a tooltip for the last item.
void explain(std::string_view words);
/// Draws a label and its value; the values of a panel form a column at `column` ems.
void fact(const char* label, std::string_view value, float column = 7);
/// Draws a message for an empty panel: centred and dim.
void nothing_here(std::string_view sentence);

/// Returns the text cut to a width, with "…" at the cut; empty if there is no room even for that.
std::string fitted(std::string_view words, float width);
/// Returns the first of several texts, longest first, that label() can draw uncut in a box of this width; otherwise the
/// last.
std::string first_that_fits(std::initializer_list<std::string> ways, float width);
/// Draws a text in a box of a drawing, cut to the box.
void label(ImDrawList* list, ImVec2 from, ImVec2 to, std::string_view words, ImU32 colour, bool centred = false);

/// Draws diagonal lines over a box: rising for protected, falling for a tombstone, so that states differ without
/// colour.
void hatch(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, bool up, float step);
/// Draws a box in the colour and pattern of a state, the same in the tree, the pool and the legend.
void state_box(ImDrawList* list, ImVec2 from, ImVec2 to, NodeState state);
/// Draws a swatch and a word in a line of widgets.
void swatch(ImU32 colour, std::string_view word);
void swatch(NodeState state, std::string_view word);
/// Draws the mark of content that came from a storage, along the lower edge of a box.
void storage_line(ImDrawList* list, ImVec2 from, ImVec2 to);
/// Draws the legend of that mark, after the legend of the colours.
void storage_legend();
/// Draws the legend of the current colours.
void colour_legend(ColourBy by, const Mirror& mirror);

/// Places the next widget beside the last one, at a distance of `gap` ems, or, if its `width` does not fit there, on a
/// new line at `indent`.
void flow(float width, float indent, float gap = 0.4F);

/// Returns the pixels by which one step of the wheel scrolls what is under the mouse; 0 if that does not scroll.
float scroll_step();

bool button(const char* label, bool enabled = true);
/// Draws a button for a command that cannot easily be undone. Returns true once, when it has been held down for
/// kHoldSeconds. It has an outline, and fills while it is held. Releasing or leaving it earlier does nothing. `width`
/// 0: the width of its label.
inline constexpr float kHoldSeconds = 0.7F;
bool hold_button(const char* label, bool chosen = false, float width = 0);
/// Draws one of several choices side by side. Returns true if it was clicked.
bool choice(const char* label, bool chosen);

}  // namespace canopy::inspector
