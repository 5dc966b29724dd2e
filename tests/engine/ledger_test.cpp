#include <canopy/engine/ledger.h>

#include <support/engines.h>

using namespace canopy;

namespace {

/// Sources that say what they are told to.
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

struct SaidIndex final : PrefixIndex {
  Sizes said;
  Probe peek(const Key&) const override { return {}; }
  Lock match(const Key&, const RequestFacts&) override { return {}; }
  Found find(const Key&) override { return {}; }
  Lock hold(NodeId, const RequestFacts*) override { return {}; }
  GroupPages pages(const Lock&, Units) override { return {}; }
  GroupPages pages(NodeId, Units) override { return {}; }
  Inserted insert(const Lock&, const Key&, const GroupPages&, InsertFacts) override { return {}; }
  void relax(Lock&, std::size_t, Units) override {}
  GroupPages release(const Lock&, const RequestFacts*) override { return {}; }
  GroupPages evict(std::size_t, std::size_t, Cause, LeavingVisitor*) override { return {}; }
  GroupPages flush(NamespaceId) override { return {}; }
  GroupPages clear() override { return {}; }
  Sizes sizes(std::size_t) const override { return said; }
  Sizes sizes(std::size_t, NamespaceId) const override { return said; }
  IndexUse use() const override { return {}; }
  Tick now() const override { return 0; }
  void use_policy(std::size_t, EvictionStrategy*) override {}
  void waiting(std::size_t, QueueVisitor&) const override {}
  void set_capacity(std::size_t, std::uint64_t) override {}
  void remap(std::size_t, std::span<const Page>, std::span<const Page>) override {}
  void visit(NodeVisitor&) const override {}
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
