#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace canopy::test {

/// Returns the factor for the work of random tests: CANOPY_OPS, a number such as 4, or 0.3 for builds that are many
/// times slower. Required coverage is checked only from the usual work on.
inline double effort() {
  const char* text = std::getenv("CANOPY_OPS");
  return text ? std::strtod(text, nullptr) : 1;
}
inline std::uint64_t with_effort(std::uint64_t usual) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(usual) * effort()));
}

}  // namespace canopy::test
