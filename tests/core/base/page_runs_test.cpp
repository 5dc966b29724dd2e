#include <canopy/helpers/page_runs.h>
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace canopy;

TEST_CASE("page runs: wherever numbers go on elsewhere, forwards or backwards, a run ends there") {
  constexpr std::size_t kCount = 150;  // two steps of 64, one of 16, and some pages
  std::vector<Page> pages(kCount);
  for (std::size_t at = 1; at < kCount; ++at)
    for (int by = -70; by <= 70; ++by)
      for (const std::size_t others : {std::size_t{1}, std::size_t{4}, kCount}) {
        std::iota(pages.begin(), pages.end(), Page{1000});
        for (std::size_t i = at; i < std::min(at + others, kCount); ++i) pages[i] += static_cast<Page>(by);
        const std::size_t found = pages_in_a_row(pages.data(), kCount), end = by == 0 ? kCount : at;
        if (found == end) continue;
        CAPTURE(at);
        CAPTURE(by);
        CAPTURE(others);
        CHECK(found == end);
      }
  CHECK(pages_in_a_row(pages.data(), 1) == 1);
}
