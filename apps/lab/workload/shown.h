#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace canopy::workload {

/// Returns a piece of an input file for a message: short, one line, no control characters.
inline std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string result;
  for (const char c : text.substr(0, kShown)) result += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kShown ? result + "..." : result;
}

}  // namespace canopy::workload
