#pragma once

#include <cstddef>
#include <string>

namespace canopy::workload {

/// The reason why a line cannot be used. The caller adds the file and the line number.
struct LineProblem {
  std::size_t column = 0;  ///< from 1, in bytes; 0: the whole line
  std::string text;
};

}  // namespace canopy::workload
