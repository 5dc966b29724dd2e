/// The pages that a pool offers, hands out and takes from its allocator.
#include <cache/guard/ports.h>
#include <cache/pages/pool.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <new>
#include <vector>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Hands out what a test says.
class ManualAllocator final : public SlotAllocator {
 public:
  Page next = 1;
  bool allocate(std::span<Page> out) override {
    for (Page& page : out) page = next++;
    return true;
  }
  bool free(std::span<const Page>) override { return true; }
  Occupancy occupancy() const override { return {}; }
  void offer(Segment) override {}
  void withdraw(Segment) override {}
  SegmentUse use(Segment) const override { return {}; }
  bool is_out(Page) const override { return false; }
  std::uint64_t longest_run() const override { return 0; }
};

/// A pool of numbers alone, that has all of its pages from the start.
Pool pool_of(std::uint64_t pages, std::uint32_t segment_pages, std::shared_ptr<SlotAllocator> allocator = nullptr) {
  static Ledger ledger;
  Pool::Components parts;
  parts.group = "full";
  if (!allocator) allocator = *plugins().make<SlotAllocator>("free_list", {});
  parts.allocator = std::make_shared<AllocatorPort>(std::move(allocator), "a test's", ledger);
  parts.limit = parts.start = pages;
  parts.segment_pages = segment_pages;
  Pool pool(std::move(parts));
  REQUIRE(pool.open());
  return pool;
}

}  // namespace

TEST_CASE("pool: it offers as many pages as its limit, whatever the segments, and page 0 is none of them") {
  for (const std::uint64_t limit : {1U, 5U, 7U, 8U, 9U, 16U, 63U, 64U})
    for (const std::uint32_t segment : {1U, 2U, 8U, 64U, 1024U}) {
      CAPTURE(limit);
      CAPTURE(segment);
      Pool pool = pool_of(limit, segment);
      CHECK(pool.offered() == limit);
      CHECK(pool.occupancy().capacity == limit);
      CHECK(pool.shortfall(limit) == 0);
      CHECK(pool.shortfall(limit + 1) == 1);
      CHECK(pool.offered() == limit);
    }
}

TEST_CASE("pool: it counts the pages that it handed out, and their runs") {
  Pool pool = pool_of(31, 8);
  std::uint64_t pages = 0, runs = 0;
  std::vector<Page> out(12);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(pool.allocate(out, 1));
    pages += out.size();
    std::size_t here = 1;
    for (std::size_t i = 1; i < out.size(); ++i) here += out[i] != out[i - 1] + 1;
    runs += here;
    CHECK(pool.last_runs().size() == here);
    CHECK(pool.handed_out().pages == pages);
    CHECK(pool.handed_out().runs == runs);
    for (std::size_t i = 0; i < out.size(); i += 2) REQUIRE(pool.free({&out[i], 1}));  // so that some lie apart
    out.resize(6);
  }
  CHECK(runs > 3);
}

TEST_CASE("pool: an emptiest segment of one page is taken first") {
  Pool pool = pool_of(5, 2);  // page 1 in a segment with page 0, and two pairs
  std::array<Page, 5> pages{};
  REQUIRE(pool.allocate(pages, 1));
  const Page one = 1;
  REQUIRE(pool.free({&one, 1}));
  pool.set_limit(4), pool.go_to_limit();
  CHECK(pool.segments()[0].offered == 1);
  CHECK(pool.offered() == 4);
  CHECK_FALSE(pool.draining());
  CHECK(pool.surplus() == 0);
}

TEST_CASE("pool: a page behind the last segment is refused, and so is one that its segment does not offer") {
  const auto allocator = std::make_shared<ManualAllocator>();
  Pool pool = pool_of(13, 8, allocator);  // 6 pages of the second segment are offered
  Page page = 0;
  for (const Page wrong : {14U, 15U, 16U, 17U, 23U, 24U, 64U, ~0U}) {
    CAPTURE(wrong);
    allocator->next = wrong;
    CHECK_FALSE(pool.allocate({&page, 1}, 1));
  }
  allocator->next = 13;
  CHECK(pool.allocate({&page, 1}, 1));
  CHECK(pool.handed_out().pages == 1);
}

TEST_CASE("pool: one whose first segment is refused asks again at once, one that has pages after more and more calls") {
  struct Memory final : SlotAllocator {
    bool allocate(std::span<Page>) override { return false; }
    bool free(std::span<const Page>) override { return true; }
    Occupancy occupancy() const override { return {offered, offered - out}; }
    void offer(Segment segment) override {
      ++tries;
      if (!has) throw std::bad_alloc();
      offered += segment.pages - (segment.first == 0);
    }
    void withdraw(Segment) override {}
    SegmentUse use(Segment) const override { return {}; }
    bool is_out(Page) const override { return false; }
    std::uint64_t longest_run() const override { return 0; }
    bool has = false;
    int tries = 0;
    std::uint64_t offered = 0, out = 0;
  };
  const auto memory = std::make_shared<Memory>();
  static Ledger ledger;
  Pool::Components parts;
  parts.group = "full";
  parts.allocator = std::make_shared<AllocatorPort>(memory, "a test's", ledger);
  parts.segment_pages = 4;
  Pool pool(std::move(parts));
  REQUIRE(pool.open());
  for (int i = 1; i <= 3; ++i) {
    CHECK(pool.shortfall(1) == 1);
    CHECK(memory->tries == i);
    CHECK(pool.limit() == 0);
  }
  memory->has = true;
  CHECK(pool.shortfall(3) == 0);
  CHECK(pool.offered() == 3);
  CHECK(pool.limit() == kUnlimited);
  // Nothing is handed out any more, and yet the pool tries again.
  memory->has = false;
  memory->out = memory->offered;
  const std::uint64_t had = pool.offered();
  CHECK(pool.shortfall(1) == 1);
  memory->tries = 0;
  for (int i = 0; i < 3'000; ++i) CHECK(pool.shortfall(1) == 1);
  CHECK(memory->tries >= 6);
  CHECK(memory->tries <= 12);
  CHECK(pool.limit() == had);
  memory->has = true;
  int calls = 0;
  for (; pool.offered() == had && calls < 2'000; ++calls) static_cast<void>(pool.shortfall(1));
  CHECK(calls <= 1'024);
}

TEST_CASE("pool: many segments cost as many steps") {
  const auto took = [](std::uint64_t pages) {
    const auto start = std::chrono::steady_clock::now();
    Pool pool = pool_of(pages, 1);
    pool.set_limit(1), pool.go_to_limit();
    pool.set_limit(pages);
    CHECK(pool.shortfall(pages) == 0);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  took(1'000);
  CHECK(took(200'000) < 5);  // minutes if each segment is looked up among all
}
