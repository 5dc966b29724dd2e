#pragma once

#include <cstddef>
#include <string>

namespace canopy::workload {

/// Why a line cannot be used. The caller adds the file and the line number.
struct LineProblem {
  std::size_t column = 0;  ///< from 1, in bytes; 0 if the line as a whole is meant
  std::string text;
};

}  // namespace canopy::workload
