#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace canopy {

/// Returns true if all numbers are below `end`, in one pass without a branch: a negative difference has its highest bit
/// set. Works on 16 and on 4 pages at a time and is inlined, since it runs for every page of every match.
[[gnu::always_inline]] inline bool all_below(std::span<const Page> pages, Page end) {
  using Four = Page __attribute__((vector_size(16)));
  constexpr Page kHighest = Page{1} << 31;
  if (end > kHighest) return std::all_of(pages.begin(), pages.end(), [&](Page page) { return page < end; });
  const Four last = Four{} + (end - 1);
  Four bits{};
  std::size_t i = 0;
  for (; i + 16 <= pages.size(); i += 16) {
    Four at[4];
    std::memcpy(at, pages.data() + i, sizeof(at));
    bits |= (at[0] | (last - at[0])) | (at[1] | (last - at[1])) | (at[2] | (last - at[2])) | (at[3] | (last - at[3]));
  }
  Page rest = bits[0] | bits[1] | bits[2] | bits[3];
  for (; i < pages.size(); ++i) rest |= pages[i] | (end - 1 - pages[i]);
  return (rest & kHighest) == 0;
}

}  // namespace canopy
