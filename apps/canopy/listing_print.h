#pragma once

#include <listing/listing.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "terminal.h"

namespace canopy::app {

/// Prints a list under its headings, with all numbers in full. `widths`: least characters of the first columns.
template <class Row, class Rows>
void print_list(const listing::Listing<Row>& listing, const Rows& rows, const Terminal& terminal,
                std::vector<std::size_t> widths = {}) {
  listing::Cells cells = listing::full_cells(listing, rows);
  // A grid's last column is left-aligned.
  const bool ends_in_figures = listing.columns.back().unit != listing::Unit::text;
  if (ends_in_figures) cells.heads.emplace_back();
  Grid grid(std::move(cells.heads), std::move(widths));
  for (std::vector<std::string>& row : cells.rows) {
    std::vector<Grid::Cell> line;
    for (std::string& words : row) line.push_back({std::move(words)});
    if (ends_in_figures) line.push_back({});
    grid.row(std::move(line));
  }
  grid.print(terminal);
}

}  // namespace canopy::app
