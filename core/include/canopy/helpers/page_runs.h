#pragma once

#include <canopy/types.h>

#include <cstring>

namespace canopy {

/// Returns the number of pages with consecutive numbers at the start of `count` pages. REQUIRES: count > 0.
///
/// It compares 64 pages at a time, then 16, then one. Page by page, this function was most of the cost of a feed.
inline std::size_t pages_in_a_row(const Page* pages, std::size_t count) {
  using Four = Page __attribute__((vector_size(16)));
  std::size_t i = 1;
  for (const std::size_t at_once : {std::size_t{64}, std::size_t{16}})
    for (; i + at_once <= count; i += at_once) {
      Four differ{}, expected = Four{0, 1, 2, 3} + (*pages + static_cast<Page>(i));
      for (std::size_t k = 0; k < at_once; k += 16, expected += 16) {
        Four at[4];
        std::memcpy(at, pages + i + k, sizeof(at));
        differ |= (at[0] ^ expected) | (at[1] ^ (expected + 4)) | (at[2] ^ (expected + 8)) | (at[3] ^ (expected + 12));
      }
      if ((differ[0] | differ[1] | differ[2] | differ[3]) != 0) break;
    }
  while (i < count && pages[i] == *pages + static_cast<Page>(i)) ++i;
  return i;
}

}  // namespace canopy
