#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace canopy::radix {

/// How many words agree from the start. memcmp, which picks the machine's widest vectors at run time, compares whole
/// blocks; only the block that differs is compared word by word.
inline std::size_t match_length(const std::uint32_t* a, const std::uint32_t* b, std::size_t count) {
  constexpr std::size_t kBlock = 256;
  std::size_t i = 0;
  while (i + kBlock <= count && std::memcmp(a + i, b + i, kBlock * sizeof(*a)) == 0) i += kBlock;
  for (; i + 2 <= count; i += 2) {
    std::uint64_t x, y;
    std::memcpy(&x, a + i, sizeof(x));
    std::memcpy(&y, b + i, sizeof(y));
    if (x != y) return i + static_cast<std::size_t>(std::countr_zero(x ^ y)) / 32;
  }
  return i < count && a[i] == b[i] ? i + 1 : i;
}
static_assert(std::endian::native == std::endian::little);

}  // namespace canopy::radix
