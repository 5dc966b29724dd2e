#include <conformance/model/effort.h>
#include <radix/tenant_queues.h>

#include <canopy/base/random.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::radix;

constexpr std::uint32_t kSlots = 200'001;

/// Queues with room for all slots.
struct Queues {
  explicit Queues(std::uint32_t tenants) {
    REQUIRE(holds.reserve(kSlots));
    holds.resize(kSlots);
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) holds(slot, 0).place = QueuePlaces::kNone;
    REQUIRE(queues.reserve(std::size_t{kSlots}));
    REQUIRE(queues.reserve(TenantId{tenants}));
  }
  HoldTable holds{1};
  TenantQueues queues{QueuePlaces{&holds, 0}};
};

/// Empties the first tenant's queue, and returns its slots in order.
std::vector<std::uint32_t> drained(TenantQueues& queues) {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; (slot = queues.front(TenantId{0})) != 0; queues.erase(TenantId{0}, slot))
    slots.push_back(slot);
  return slots;
}

}  // namespace

TEST_CASE("the queues of 100,000 tenants have the order of sorted sets, whatever comes, goes and changes its rank") {
  for (const std::uint32_t tenants : {1U, 3U, 100'000U}) {
    CAPTURE(tenants);
    Queues bench(tenants);
    using Entry = std::tuple<Rank, std::uint32_t, std::uint32_t>;
    std::vector<std::set<Entry>> model(tenants);
    std::vector<Entry> entries(kSlots);
    Random random(tenants);
    std::size_t wrong = 0;
    for (std::uint64_t i = 0; i < test::with_effort(600'000); ++i) {
      // One tenant's queue is long when there are many tenants, and the slots of all are used in turns.
      const std::uint32_t slot = 1 + random.below(i % 2 ? kSlots - 1 : 2'000);
      const std::uint32_t number = slot % 3 == 0 ? 0 : slot % tenants;
      const TenantId tenant{number};
      const bool waits = bench.holds(slot, 0).place != QueuePlaces::kNone;
      if (waits) model[number].erase(entries[slot]);
      if (waits && random.one_in(3)) {
        bench.queues.erase(tenant, slot);
      } else {
        const QueuedNode entry{{random.below(50), random.below(4)}, random.below(2), slot};
        entries[slot] = {entry.rank, entry.order, slot};
        bench.queues.put(tenant, entry);
        model[number].insert(entries[slot]);
      }
      const std::uint32_t front = bench.queues.front(tenant);
      wrong += front != (model[number].empty() ? 0 : std::get<2>(*model[number].begin()));
    }
    CHECK(wrong == 0);
    for (std::uint32_t number = 0; number < tenants; ++number) {
      for (const Entry& entry : model[number]) {
        const std::uint32_t front = bench.queues.front(TenantId{number});
        wrong += front != std::get<2>(entry);
        if (front == 0) break;
        bench.queues.erase(TenantId{number}, front);
      }
      wrong += bench.queues.front(TenantId{number}) != 0;
    }
    CHECK(wrong == 0);
  }
}

// An operation that is linear in the queue would take 2e10 steps in each of these.
TEST_CASE(
    "a queue takes ascending, descending and equal ranks, changes them and is emptied from both ends in moments") {
  Queues bench(1);
  std::vector<std::uint32_t> ascending(kSlots - 1);
  std::iota(ascending.begin(), ascending.end(), 1U);
  const auto put = [&](std::uint32_t slot, std::uint64_t rank) { bench.queues.put(TenantId{0}, {{rank, 0}, 0, slot}); };
  for (const std::uint32_t slot : ascending) put(slot, slot);
  CHECK(drained(bench.queues) == ascending);
  for (const std::uint32_t slot : ascending) put(slot, 0);
  CHECK(drained(bench.queues) == ascending);
  for (const std::uint32_t slot : ascending) put(slot, ~std::uint64_t{slot});
  // Uses in the order of arrival: the first one becomes the last, as under lru.
  for (const std::uint32_t slot : ascending) put(slot, slot);
  CHECK(drained(bench.queues) == ascending);
  for (const std::uint32_t slot : ascending) put(slot, slot);
  for (std::uint32_t slot = kSlots - 1; slot > 0; --slot) bench.queues.erase(TenantId{0}, slot);
  CHECK(bench.queues.front(TenantId{0}) == 0);
}
