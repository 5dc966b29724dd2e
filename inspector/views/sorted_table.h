#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "draw.h"

namespace canopy::inspector {

/// The column by which a table is sorted.
struct TableOrder {
  std::size_t column = 0;
  bool falling = true;
};

/// Head of a column by which a table can be sorted.
struct SortedHead {
  const char* name;
  bool is_number = false;
  const char* help = "";
};

/// Draws the heads of a table. A click on one sorts by it; another one turns the order around. Numbers begin with the
/// largest. Returns true if the order changed.
bool sorted_heads(std::initializer_list<SortedHead> heads, TableOrder& order);

}  // namespace canopy::inspector
