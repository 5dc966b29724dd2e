#pragma once

#include <cstdint>
#include <string>

namespace canopy::inspector {

/// 1,204,331
inline std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace canopy::inspector
