#include <canopy/base/random.h>
#include <conformance/every.h>

#include <canopy/slot_allocator.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

std::vector<Page> take(SlotAllocator& allocator, std::size_t count) {
  std::vector<Page> pages(count);
  REQUIRE(allocator.allocate(pages));
  return pages;
}

void check(const SlotAllocator& allocator, std::uint64_t capacity, std::uint64_t free) {
  CHECK(allocator.occupancy().capacity == capacity);
  CHECK(allocator.occupancy().free == free);
}

}  // namespace

// clang-format off
#define ALLOCATOR_CASE(title) CONTRACT(for_every<SlotAllocator>, (const std::string&, SlotAllocator& allocator), title)
// clang-format on

TEST_SUITE_BEGIN("SlotAllocator");

ALLOCATOR_CASE("an allocator starts empty and serves what it is offered") {
  std::vector<Page> one(1);
  CHECK(!allocator.allocate(one));
  CHECK(allocator.allocate({}));
  CHECK(allocator.free({}));
  check(allocator, 0, 0);
  allocator.offer({7, 1});
  CHECK(take(allocator, 1) == std::vector<Page>{7});
}

ALLOCATOR_CASE("exactly all pages can be allocated, one more is refused, and page 0 is never among them") {
  allocator.offer({0, 101});
  check(allocator, 100, 100);
  std::vector<Page> too_many(101);
  CHECK(!allocator.allocate(too_many));
  check(allocator, 100, 100);
  auto pages = take(allocator, 100);
  std::ranges::sort(pages);
  for (Page page = 1; page <= 100; ++page) CHECK(pages[page - 1] == page);
  CHECK_MESSAGE(!allocator.is_out(0), "page 0 was handed out");
  std::vector<Page> one(1);
  CHECK(!allocator.allocate(one));
  check(allocator, 100, 0);
}

ALLOCATOR_CASE("an allocation that is refused changes nothing") {
  allocator.offer({1, 10});
  const auto pages = take(allocator, 4);
  CHECK(allocator.free(std::span(pages).first(2)));
  std::vector<Page> too_many(9);
  CHECK(!allocator.allocate(too_many));
  check(allocator, 10, 8);
  CHECK(allocator.is_out(pages[2]));
  CHECK(!allocator.is_out(pages[0]));
  take(allocator, 8);
}

ALLOCATOR_CASE("freeing a page that is free, or twice in one list, is refused and changes nothing") {
  allocator.offer({1, 10});
  const auto pages = take(allocator, 4);
  const std::array<Page, 2> twice{pages[1], pages[1]};
  CHECK(!allocator.free(twice));
  for (const Page never_out : {Page{0}, Page{11}, Page{4'000'000'000}}) {
    const std::array<Page, 2> with_stranger{pages[0], never_out};
    CHECK(!allocator.free(with_stranger));
  }
  for (const Page page : pages) CHECK(allocator.is_out(page));
  check(allocator, 10, 6);
  CHECK(allocator.free(pages));
  CHECK(!allocator.free(pages));
  check(allocator, 10, 10);
  CHECK(take(allocator, 10).size() == 10);
}

ALLOCATOR_CASE("a withdrawn segment hands out nothing, and its pages stay withdrawn when they are freed") {
  allocator.offer({1, 8});
  const auto first = take(allocator, 8);
  allocator.offer({20, 8});
  const auto second = take(allocator, 5);
  CHECK(allocator.free(std::span(second).first(2)));
  CHECK(allocator.use({20, 8}).out == 3);
  allocator.withdraw({20, 8});
  check(allocator, 8, 0);
  CHECK(allocator.use({20, 8}).out == 3);
  CHECK(allocator.is_out(second[4]));
  CHECK(allocator.free(std::span(second).subspan(2)));
  CHECK(allocator.use({20, 8}).out == 0);
  check(allocator, 8, 0);
  CHECK(allocator.free(first));
  for (const Page page : take(allocator, 8)) CHECK(page <= 8);
}

ALLOCATOR_CASE("pages of a withdrawn segment can be offered again in other pieces, some of them still out") {
  allocator.offer({10, 10});
  const auto pages = take(allocator, 10);
  allocator.withdraw({10, 10});
  allocator.offer({10, 5});
  check(allocator, 5, 0);
  CHECK(allocator.free(pages));
  check(allocator, 5, 5);
  for (const Page page : take(allocator, 5)) CHECK(page < 15);
  allocator.offer({15, 5});
  check(allocator, 10, 5);
  for (const Page page : take(allocator, 5)) CHECK(page >= 15);
}

ALLOCATOR_CASE("the longest run is the largest number of free neighbours") {
  CHECK(allocator.longest_run() == 0);
  allocator.offer({0, 65});
  CHECK(allocator.longest_run() == 64);
  const auto pages = take(allocator, 64);
  CHECK(allocator.longest_run() == 0);
  const std::array<Page, 5> back{10, 30, 12, 31, 11};
  CHECK(allocator.free(back));
  CHECK(allocator.longest_run() == 3);
}

ALLOCATOR_CASE("an allocator agrees with a set over 100,000 random calls") {
  constexpr std::uint32_t kSegments = 6, kPages = 40;
  Random prng(5);
  std::set<Page> free, out;
  std::array<bool, kSegments> offered{};
  const auto segment = [](std::uint32_t i) { return Segment{i * kPages, kPages}; };
  const auto offered_page = [&](Page page) { return offered[page / kPages]; };
  for (int step = 0; step < 100'000; ++step) {
    const std::uint32_t dice = prng.below(100);
    if (dice < 48) {
      std::vector<Page> pages(prng.below(prng.one_in(20) ? 300 : 12));
      const bool fits = pages.size() <= free.size();
      REQUIRE(allocator.allocate(pages) == fits);
      for (const Page page : pages) {
        if (!fits) break;
        REQUIRE_MESSAGE(free.erase(page) == 1, "page ", page, " was handed out and is not free");
        out.insert(page);
      }
    } else if (dice < 95) {
      std::vector<Page> pages;
      for (const Page page : out)
        if (prng.one_in(6)) pages.push_back(page);
      if (prng.one_in(10)) {
        pages.push_back(prng.below(kSegments * kPages + 10));
        const bool twice = std::ranges::count(pages, pages.back()) > 1;
        const bool refused = twice || !out.contains(pages.back());
        REQUIRE(allocator.free(pages) == !refused);
        if (refused) continue;
      } else {
        REQUIRE(allocator.free(pages));
      }
      for (const Page page : pages) {
        out.erase(page);
        if (offered_page(page)) free.insert(page);
      }
    } else {
      const std::uint32_t i = prng.below(kSegments);
      if (offered[i]) {
        allocator.withdraw(segment(i));
        std::erase_if(free, [&](Page page) { return page / kPages == i; });
      } else {
        allocator.offer(segment(i));
        for (Page page = i * kPages; page < (i + 1) * kPages; ++page)
          if (page != 0 && !out.contains(page)) free.insert(page);
      }
      offered[i] = !offered[i];
    }
    std::uint64_t capacity = 0;
    for (std::uint32_t i = 0; i < kSegments; ++i) capacity += offered[i] ? kPages - (i == 0) : 0;
    REQUIRE(allocator.occupancy().capacity == capacity);
    REQUIRE(allocator.occupancy().free == free.size());
    if (step % 64 != 0) continue;
    for (std::uint32_t i = 0; i < kSegments; ++i)
      REQUIRE(allocator.use(segment(i)).out ==
              std::ranges::count_if(out, [&](Page page) { return page / kPages == i; }));
    std::uint64_t longest = 0, run = 0;
    for (Page page = 0; page < kSegments * kPages + 10; ++page) {
      REQUIRE(allocator.is_out(page) == out.contains(page));
      longest = std::max(longest, run = free.contains(page) ? run + 1 : 0);
    }
    REQUIRE(allocator.longest_run() == longest);
  }
}

TEST_SUITE_END();
