#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace canopy::radix {

/// Copies words that are not read soon. Large blocks bypass the caches, which keep more useful lines.
inline void stream_copy(std::uint32_t* to, const std::uint32_t* from, std::size_t count) {
#ifdef __SSE2__
  constexpr std::size_t kLarge = 2048, kStep = 16;  // words; a smaller copy only pays for the flush
  if (count >= kLarge) {
    std::size_t i =
        (~reinterpret_cast<std::uintptr_t>(to) / sizeof(*to) + 1) % 4;  // such stores are aligned to 16 bytes
    std::memcpy(to, from, i * sizeof(*to));
    for (; i + kStep <= count; i += kStep)
      for (std::size_t k = 0; k < kStep; k += 4)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + k)));
    _mm_sfence();
    to += i, from += i, count -= i;
  }
#endif
  std::memcpy(to, from, count * sizeof(*to));
}

}  // namespace canopy::radix
