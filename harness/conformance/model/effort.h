#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace canopy::test {

/// How many times the usual work random tests do: CANOPY_OPS, a number such as 4, or 0.3 where programs are many
/// times slower. What they must have reached is asked of at least the usual work only.
inline double effort() {
  const char* text = std::getenv("CANOPY_OPS");
  return text ? std::strtod(text, nullptr) : 1;
}
inline std::uint64_t with_effort(std::uint64_t usual) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(usual) * effort()));
}

}  // namespace canopy::test
