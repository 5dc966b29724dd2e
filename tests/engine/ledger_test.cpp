#include <canopy/engine/ledger.h>

#include <support/engines.h>
#include <support/said_index.h>

using namespace canopy;
using canopy::test::SaidIndex;

namespace {

/// An allocator that does nothing, and answers what a test says.
struct SaidAllocator final : SlotAllocator {
  Occupancy said;
  bool allocate(std::span<Page>) override { return false; }
  bool free(std::span<const Page>) override { return false; }
  Occupancy occupancy() const override { return said; }
  void offer(Segment) override {}
  void withdraw(Segment) override {}
  SegmentUse use(Segment) const override { return {}; }
  bool is_out(Page) const override { return false; }
  std::uint64_t longest_run() const override { return 0; }
};

}  // namespace

TEST_CASE("one page hidden from any of its sources, or counted twice, trips the ledger") {
  const auto allocator = std::make_shared<SaidAllocator>();
  Pool pool({"full", {}, allocator, nullptr, nullptr, 100, 1});
  SaidIndex index;
  struct Books {
    std::uint64_t free, evictable, protected_, owned, moving = 0;
  };
  const auto violations = [&](Books books) {
    Ledger ledger;
    allocator->said = {100, books.free};
    index.said = {books.evictable * 16, books.protected_ * 16};
    ledger.check(pool, index, 0, 16, books.owned, books.moving, "a test");
    return ledger.violations();
  };
  const Books right{10, 40, 30, 15, 5};
  CHECK(violations(right) == 0);
  for (const std::uint64_t off : {~std::uint64_t{0}, std::uint64_t{1}}) {
    CHECK(violations({right.free + off, right.evictable, right.protected_, right.owned, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable + off, right.protected_, right.owned, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable, right.protected_ + off, right.owned, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable, right.protected_, right.owned + off, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable, right.protected_, right.owned, right.moving + off}) == 1);
  }
}

TEST_CASE("sizes that are no whole pages trip the ledger even if they add up") {
  const auto allocator = std::make_shared<SaidAllocator>();
  Pool pool({"full", {}, allocator, nullptr, nullptr, 10, 1});
  SaidIndex index;
  Ledger ledger;
  allocator->said = {10, 8};
  index.said = {17, 15};
  ledger.check(pool, index, 0, 16, 0, 0, "a test");
  CHECK(ledger.violations() == 1);
}

TEST_CASE("a violation says which group, which operation and how many pages") {
  const auto allocator = std::make_shared<SaidAllocator>();
  Pool pool({"window", {}, allocator, nullptr, nullptr, 10, 1});
  SaidIndex index;
  Ledger ledger;
  allocator->said = {10, 5};
  index.said = {32, 16};
  ledger.check(pool, index, 0, 16, 1, 0, "insert");
  REQUIRE(ledger.reports().size() == 1);
  CHECK(ledger.reports()[0] ==
        "group 'window' after insert: free 5 + evictable 2 + protected 1 + owned 1 = 9 pages, but the pool has 10: 1 "
        "have no owner");
}
