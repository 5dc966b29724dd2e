#pragma once

#include <imgui.h>
#include <listing/listing.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "draw.h"
#include "held_list.h"

namespace canopy::inspector {

/// The column by which a list is sorted, by its heading.
struct ListOrder {
  std::string head;
  bool falling = true;
  friend bool operator==(const ListOrder&, const ListOrder&) = default;
};

/// Sorts rows by the column of `order`; equal ones by the first column.
template <class Row>
void sort(std::vector<Row>& rows, const listing::Listing<Row>& listing, const ListOrder& order) {
  if (order.head != *listing.columns.front().head) listing::sort(rows, listing.columns.front(), false);
  for (const listing::Column<Row>& column : listing.columns)
    if (column.head == order.head) return listing::sort(rows, column, order.falling);
}

/// Heading of a column, as it is drawn.
struct ListHead {
  const std::string &head, &words, &help;
  bool is_number;
  float room, least_room;
};

/// The parts of ListTable::draw that do not depend on the type of a row. Begins a table of ImGui's with its headings;
/// a click on one changes `order`, unless that is null. Call ImGui::EndTable() if it returns true.
bool begin_list(const char* id, std::span<const ListHead> heads, bool scrolls, ListOrder* order);
/// Scrolls to a row, unless it is in sight.
void show_row(std::size_t row);
/// Makes the row a button, where its first cell begins. Returns true if it was clicked. `height`: see ListTable.
/// `overlap`: there are buttons in the row.
bool row_button(float height, bool chosen, bool enabled, bool overlap);
/// Writes a value. Unknown ones and zeros are dim.
void list_cell(const listing::Value& value, listing::Unit unit, listing::Tone tone, float height);

/// A list in a window: its headings stay, its rows scroll, and numbers are under each other. Columns for which there is
/// no room are left out; words that do not fit are cut with "…".
template <class Row>
struct ListTable {
  const char* id;
  listing::Listing<Row> columns;
  std::function<void(const Row&)> click{};           ///< Empty: rows are no buttons.
  std::function<bool(const Row&)> is_chosen{};       ///< May be empty (no row is).
  std::function<bool(const Row&)> is_enabled{};      ///< May be empty (all rows are).
  std::function<std::string(const Row&)> explain{};  ///< tooltip of a row that is a button; may be empty (none)
  /// Draws a cell of the column with this heading itself and returns true. May be empty (all cells are text).
  std::function<bool(const std::string& head, const Row&)> draw_cell{};
  ListOrder* order = nullptr;    ///< May be null (the list cannot be sorted).
  HeldList* held = nullptr;      ///< May be null (the list never holds still).
  std::ptrdiff_t in_sight = -1;  ///< row that must be in sight; -1: none
  bool scrolls = true;           ///< false: it is as high as its rows
  float height = 0;              ///< height of a row, in ems; 0: that of a line

  template <class Rows>
  void draw(const Rows& rows) const {
    const std::vector<listing::Column<Row>> shown = listing::for_people(columns, rows).columns;
    std::vector<ListHead> heads;
    for (const listing::Column<Row>& column : shown)
      heads.push_back({*column.head, column.short_head.empty() ? *column.head : column.short_head, column.help,
                       column.unit != listing::Unit::text, column.room, column.least_room});
    if (!begin_list(id, heads, scrolls, order)) return;
    if (in_sight >= 0) show_row(static_cast<std::size_t>(in_sight));
    if (held) held->look();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(std::size(rows)));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        ImGui::PushID(i);
        draw_row(shown, *(std::begin(rows) + i));
        ImGui::PopID();
      }
    ImGui::EndTable();
  }

 private:
  void draw_row(const std::vector<listing::Column<Row>>& shown, const Row& row) const {
    ImGui::TableNextRow(0, height * em());
    for (const listing::Column<Row>& column : shown) {
      if (!ImGui::TableNextColumn()) continue;  // there is no room for it
      if (click && &column == &shown.front()) {
        if (row_button(height, is_chosen && is_chosen(row), !is_enabled || is_enabled(row), draw_cell != nullptr))
          click(row);
        if (explain && ImGui::IsItemHovered()) inspector::explain(explain(row));
        ImGui::SameLine(0, 0);
      }
      if (!draw_cell || !draw_cell(*column.head, row))
        list_cell(column.value(row), column.unit, column.tone ? column.tone(row) : listing::Tone::plain, height);
      if (column.explain && ImGui::IsItemHovered()) inspector::explain(column.explain(row));
    }
  }
};

}  // namespace canopy::inspector
