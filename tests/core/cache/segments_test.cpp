#include <canopy/base/random.h>
#include <canopy/slot_allocator.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr Page kEnd = 4'000;

std::size_t free_in(const std::set<Page>& free, Page segment, std::uint32_t pages) {
  return static_cast<std::size_t>(
      std::distance(free.lower_bound(segment * pages), free.lower_bound((segment + 1) * pages)));
}

}  // namespace

TEST_CASE("segments: each page is the lowest of a segment that has the fewest free ones") {
  for (const std::uint32_t pages : {1U, 7U, 64U, 100U, 1024U}) {
    CAPTURE(pages);
    const auto allocator = make<SlotAllocator>("segments", {pages});
    Random random(pages);
    std::set<Page> free;
    std::vector<Page> out;
    for (Page first = 0; first < kEnd; first += pages) allocator->offer({first, std::min(pages, kEnd - first)});
    for (Page page = 1; page < kEnd; ++page) free.insert(page);
    for (int i = 0; i < 20'000; ++i) {
      if (!out.empty() && (free.empty() || random.below(100) < 48)) {
        std::swap(out[random.below(static_cast<std::uint32_t>(out.size()))], out.back());
        REQUIRE(allocator->free({&out.back(), 1}));
        free.insert(out.back());
        out.pop_back();
        continue;
      }
      Page page = 0;
      REQUIRE(allocator->allocate({&page, 1}));
      REQUIRE(free.contains(page));
      const Page segment = page / pages;
      REQUIRE(*free.lower_bound(segment * pages) == page);
      const std::size_t here = free_in(free, segment, pages);
      if (i % 16 == 0)
        for (Page other = 0; other * pages < kEnd; ++other) {
          const std::size_t there = free_in(free, other, pages);
          REQUIRE((there == 0 || there >= here));
        }
      free.erase(page);
      out.push_back(page);
    }
  }
}
