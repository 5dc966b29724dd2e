#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace canopy::radix {

/// Returns true if 16 words agree.
inline bool sixteen_agree(const std::uint32_t* a, const std::uint32_t* b) {
#ifdef __SSE2__
  __m128i agree = _mm_set1_epi32(-1);
  for (std::size_t k = 0; k < 16; k += 4)
    agree = _mm_and_si128(agree, _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + k)),
                                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + k))));
  return _mm_movemask_epi8(agree) == 0xffff;
#else
  return std::memcmp(a, b, 16 * sizeof(*a)) == 0;
#endif
}

/// Returns the number of words that agree from the start. memcmp, which picks the machine's widest vectors at run time,
/// compares whole blocks. In a block that differs or is not whole, 16 words are compared at once, and only the last few
/// in pairs.
inline std::size_t match_length(const std::uint32_t* a, const std::uint32_t* b, std::size_t count) {
  constexpr std::size_t kBlock = 256;
  std::size_t i = 0;
  while (i + kBlock <= count && std::memcmp(a + i, b + i, kBlock * sizeof(*a)) == 0) i += kBlock;
  while (i + 16 <= count && sixteen_agree(a + i, b + i)) i += 16;
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
