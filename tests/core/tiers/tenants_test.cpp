/// Shares of tenants in the host tier, and their budgets of puts.
#include <cache/tenants/tenants.h>

#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

namespace {

void leave_for(Engine& engine, const char* tenant, const std::vector<Token>& prompt) {
  RequestSpec spec = arrival(prompt);
  spec.space = engine.intern({.tenant = tenant});
  Request request = engine.begin(spec);
  REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
  request.finish(static_cast<std::uint32_t>(prompt.size()));
}

std::uint64_t in_host(const Engine& engine, const std::string& tenant) {
  for (const TenantUse& of : state_of(engine).below->tenants->figures())
    if (of.name == tenant) return of.cached;
  return 0;
}

}  // namespace

TEST_CASE("tenants: a floor holds in the host tier, in proportion to its capacity") {
  for (const bool shares : {false, true}) {
    const auto engine = engine_of(std::string(kSmall) + "tiers: { host: { capacity: 48 } }\ntenants: { a: { floor: " +
                                  (shares ? "32" : "0") + ", weight: 0.01 }, b: {} }\n");
    std::uint64_t now = 0;
    const auto all_down = [&] {
      engine->make_free(0, 16);
      engine->turn(++now);
    };
    leave_for(*engine, "a", tokens(1, 33));
    all_down();
    CHECK(in_host(*engine, "a") == 32);
    for (Token first = 1000; first < 6000; first += 1000) {
      leave_for(*engine, "b", tokens(first, 41));
      all_down();
    }
    CHECK(in_host(*engine, "a") == (shares ? 24 : 0));  // 32 of 64 tokens above are 24 of 48 here
    check_settled(*engine);
  }
}

TEST_CASE("tenants: a share that the host tier cannot give changes nothing, though the pool has grown") {
  const auto engine =
      engine_of(std::string(kSmall) + "tiers: { host: { capacity: 48 } }\ntenants: { a: { floor: 8 } }\n");
  engine->resize(0, 32);
  const auto refused = [&](const char* tenant, std::uint64_t floors) {
    const auto set = engine->set_share(tenant, {.floor = 100});
    REQUIRE_FALSE(set);
    CHECK(set.error().text == fmt::format("tenant '{}': floor = 100: the floors of all tenants would be {} tokens, and "
                                          "the host tier is for a pool of 64",
                                          tenant, floors));
    REQUIRE(engine->tenants().size() == 2);
    CHECK(engine->tenants()[1].share.floor == 8);
  };
  refused("a", 100);
  refused("c", 108);
  // A refused share takes no room: only the floor of 8 counts.
  CHECK(engine->set_share("c", {.floor = 56}));
  CHECK(engine->tenants()[2].share.floor == 56);
  const Tenants& below = *state_of(*engine).below->tenants;
  CHECK(below.share(*below.find("c")).floor == 56);
  CHECK(below.share(*below.find("a")).floor == 8);
  check_settled(*engine);
}

TEST_CASE(
    "tenants: what leaves the host tier early is put into the storage with shares as without, whatever the floors") {
  std::vector<std::uint64_t> put;
  for (const char* const tenants : {"{}", "{ a: {}, b: {} }", "{ a: { floor: 32 }, b: { floor: 32 } }"}) {
    CAPTURE(tenants);
    const auto engine = stored_engine({"tiers.storage.in={ by_hand: { at_once: true } }", "tiers.host.capacity=400",
                                       std::string("tenants=") + tenants},
                                      [](EngineConfig& config) { config.storage_tier.kept_free_percent = 5; });
    std::uint64_t now = 0;
    for (Token i = 0; i < 200; ++i) {
      leave_for(*engine, i % 2 ? "a" : "b", tokens(1 + 100 * i, 9));
      engine->turn(++now);
    }
    for (int more = 0; more < 3; ++more) engine->turn(++now);
    const CounterValues counters = engine->tiers().counters();
    put.push_back(counters[Counter::written_tokens_storage]);
    CHECK(counters[Counter::dropped_tokens_storage] == 0);
    CHECK(state_of(*engine).below->pools[0].free_pages() >= 3);  // each tenant may have a part of a page more
    check_settled(*engine);
  }
  CHECK(put[0] > 1'000);
  CHECK(put[1] == put[0]);
  CHECK(put[2] + 2 * 8 >= put[0]);
}

TEST_CASE("tenants: a floor does not keep a tenant's own records from its host tier") {
  for (const char* const floor : {"0", "48", "63", "64"}) {
    CAPTURE(floor);
    const auto engine =
        stored_engine({"tiers.storage.in={ by_hand: { at_once: true } }", "tiers.storage.write=through",
                       "tiers.host.write=write_through", std::string("tenants={ a: { floor: ") + floor + " } }"});
    std::uint64_t now = 0;
    const auto turns = [&] {
      for (int turn = 0; turn < 4; ++turn) engine->turn(++now);
    };
    for (Token i = 0; i < 12; ++i) {
      leave_for(*engine, "a", tokens(1 + 100 * i, 17));
      turns();
    }
    engine->make_free(0, 16);
    turns();
    const auto prompt = tokens(1, 17);
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern({.tenant = "a"});
    Fetch fetch = engine->tiers().fetch(spec);
    turns();
    CHECK(engine->begin(spec, std::move(fetch)).matched() == 16);
    turns();
    check_settled(*engine);
  }
}

TEST_CASE("tenants: a budget of puts is spent, refills with time, and what it refuses is counted") {
  const auto engine = stored_engine({"tiers.storage.write=through", "tenants={ a: { puts: 16 }, b: {} }"});
  ByHand& storage = *ByHand::last;
  std::uint64_t records = 0;
  const auto put = [&](const char* tenant, Token first, std::uint64_t now_us) {
    engine->turn(now_us);
    leave_for(*engine, tenant, tokens(first, 25));
    engine->make_free(0, 16);
    engine->turn(now_us);
    storage.end('p');
    engine->turn(now_us);
    const std::uint64_t had = std::exchange(records, storage.kept.size());
    return records - had;
  };
  const auto refused = [&] { return engine->tenants()[1].refused_puts; };
  CHECK(put("a", 100, 1) == 4);
  CHECK(refused() == 8);
  CHECK(put("a", 200, 2) == 0);
  CHECK(refused() == 32);
  CHECK(put("b", 300, 3) == 6);
  CHECK(put("a", 400, 30'000'003) == 2);  // half a minute: half of the budget
  CHECK(put("a", 500, 900'000'000) == 4);
  // Asked for more often than a token comes, it refills as fast.
  std::uint64_t kept = 0;
  for (Token turn = 1; turn <= 10; ++turn) kept += put("a", 1'000 * turn, 900'000'000 + turn * 6'000'000);
  CHECK(kept == 4);
  CHECK(engine->tenants()[2].refused_puts == 0);
  check_settled(*engine);
}

TEST_CASE("tenants: of a page of a path a budget counts the tokens once, whatever groups put something there") {
  const auto engine =
      stored_engine({"groups.part.reach=10", "groups.part.capacity=64", "groups.part.allocator=free_list",
                     "groups.part.eviction=lru", "tenants={ a: { puts: 16 }, b: {} }"},
                    [](EngineConfig& config) { config.storage_tier.kept_free_percent = 100; });
  leave_for(*engine, "a", tokens(100, 41));
  engine->make_free(0, 16);
  for (std::uint64_t now = 1; now < 4; ++now) {
    engine->turn(now);
    for (ByHand* storage : ByHand::of_groups) storage->end('p');
  }
  engine->turn(4);
  for (const ByHand* storage : ByHand::of_groups) CHECK(storage->kept.size() == 4);
  CHECK(engine->tenants()[1].refused_puts == 24);
  CHECK(engine->tiers().counters()[Counter::dropped_tokens_storage] == 24);
  check_settled(*engine);
}
