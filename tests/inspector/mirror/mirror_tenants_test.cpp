/// Tenants with shares, as a reader of the feed sees them: equal to the engine's own figures, early and late.
#include <canopy/base/random.h>
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <mirror/mirror.h>
#include <support/engines.h>

#include <map>

using namespace canopy;
using namespace canopy::test;
using inspector::Mirror;
using inspector::MirrorTenant;

namespace {

constexpr const char* kGroups =
    "page_size: 4\nindex: radix\n"
    "groups: { full: { reach: path, capacity: 400, allocator: free_list, eviction: lru } }\n"
    "feed: { heap: { events: 65536 } }\n";

struct Reading {
  explicit Reading(Engine& of)
      : engine(of), reader(of.feed()->writer().header()), mirror(of.feed()->writer().header()) {}
  const Mirror& look() {
    engine.poll();
    Event events[512];
    for (std::size_t count = 0; reader.read(events, std::size(events), count) == FeedReader::Outcome::events;) {
      mirror.take({events, count});
      for (std::size_t i = 0; i < count; ++i) ++kinds[events[i].kind];
    }
    return mirror;
  }
  Engine& engine;
  FeedReader reader;
  Mirror mirror;
  std::map<int, int> kinds;
};

void serve(Engine& engine, const std::string& tenant, const std::string& adapter, Token first, std::uint32_t count) {
  const auto prompt = tokens(first, count);
  RequestSpec spec = arrival(prompt);
  spec.space = engine.intern({.tenant = tenant, .adapter = adapter});
  Request request = engine.begin(spec);
  if (request.reserve(count)) request.finish(count);
}

/// Everything that the engine says of its tenants, against the mirror. `requests`: the mirror has seen all of them.
void compare(const Engine& engine, const Mirror& mirror, bool requests) {
  const std::vector<TenantUse> uses = engine.tenants();
  const std::vector<std::uint64_t> cached = mirror.tenant_tokens();
  REQUIRE(mirror.tenants().all.size() == uses.size());
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const TenantUse& use = uses[i];
    const MirrorTenant& tenant = mirror.tenants().all[i];
    CAPTURE(use.name);
    CHECK(tenant.name == use.name);
    CHECK(tenant.floor == use.share.floor);
    CHECK(tenant.ceiling == use.share.ceiling);
    CHECK(tenant.weight == doctest::Approx(use.share.weight));
    CHECK(cached[i] == use.cached);
    CHECK(tenant.evicted == use.evicted);
    CHECK(tenant.paid == use.paid);
    CHECK(tenant.taken == use.taken);
    CHECK(tenant.below_floor == use.below_floor);
    if (!requests) continue;
    CHECK(tenant.requests == use.requests);
    CHECK(tenant.prompt_tokens == use.prompt_tokens);
    CHECK(tenant.hit_tokens == use.hit_tokens);
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> engines, mirrors;
  for (const TenantPayment& payment : engine.payments()) engines[{payment.from, payment.to}] += payment.tokens;
  for (const auto& [pair, tokens] : mirror.tenants().payments)
    mirrors[{mirror.tenants().all[pair.first].name, mirror.tenants().all[pair.second].name}] += tokens;
  if (mirror.tenants().other_payments > 0) mirrors[{"*", "*"}] = mirror.tenants().other_payments;
  CHECK(engines == mirrors);
  CHECK(mirror.drift() == 0);
}

/// Random requests of `tenants` tenants.
void run(Engine& engine, Random& random, std::uint32_t tenants, int requests) {
  for (int i = 0; i < requests; ++i) {
    const auto tenant = random.below(tenants);
    serve(engine, "t" + std::to_string(tenant), random.below(3) == 0 ? "adapter" : "",
          1000 * (tenant + 1) + 40 * random.below(8), 8 + random.below(50));
  }
}

}  // namespace

TEST_CASE("tenants in the feed: shares, what each has, and the payments, early and late") {
  const auto engine = engine_of(
      std::string(kGroups) + "tenants: { t0: { floor: 120, weight: 2 }, t1: { ceiling: 60 }, t2: { weight: 0.25 } }\n");
  Reading early(*engine);
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    run(*engine, random, 6, 30);
    compare(*engine, early.look(), true);
  }
  CHECK(engine->payments().size() > 10);
  CHECK(engine->tenants()[2].evicted > engine->tenants()[2].paid);  // t1 evicted its own at its ceiling
  Reading late(*engine);
  compare(*engine, late.look(), false);
  for (int round = 0; round < 5; ++round) {
    run(*engine, random, 6, 30);
    compare(*engine, early.look(), true);
    compare(*engine, late.look(), false);
  }
  CHECK(early.kinds[event::TenantEvicted::kKind] > 0);
}

TEST_CASE("tenants in the feed: more pairs than are kept apart are one sum, also for a late reader") {
  const auto engine = engine_of(std::string(kGroups) + "tenants: { t0: { floor: 40 } }\n");
  Reading early(*engine);
  Random random(7);
  for (int round = 0; round < 30; ++round) run(*engine, random, 60, 200), early.look();
  compare(*engine, early.mirror, true);
  const auto payments = engine->payments();
  REQUIRE(payments.back().from == "*");
  CHECK(early.mirror.tenants().payments.size() == 1024);
  Reading late(*engine);
  compare(*engine, late.look(), false);
}

TEST_CASE("tenants in the feed: a floor that locks break is reported") {
  const auto engine = engine_of(std::string(kGroups) + "tenants: { t0: { floor: 200 }, t1: { weight: 1 } }\n");
  Reading reading(*engine);
  for (Token first = 100; first < 600; first += 100) serve(*engine, "t0", "", first, 41);
  const auto prompt = tokens(9000, 300);
  RequestSpec spec = arrival(prompt);
  spec.space = engine->intern({.tenant = "t1"});
  Request request = engine->begin(spec);
  REQUIRE(request.reserve(300));
  compare(*engine, reading.look(), true);
  CHECK(engine->tenants()[1].below_floor > 0);
  Reading late(*engine);
  compare(*engine, late.look(), false);
}

TEST_CASE("tenants in the feed: another share, and a share of its own, while it runs") {
  const auto engine = engine_of(std::string(kGroups) + "tenants: { t0: { floor: 40 }, \"*\": { together: true } }\n");
  Reading reading(*engine);
  Random random(9);
  run(*engine, random, 4, 100);
  compare(*engine, reading.look(), true);
  CHECK(reading.mirror.tenants().all[0].name == "*");
  REQUIRE(engine->set_share("t0", {.floor = 100, .weight = 3}));
  compare(*engine, reading.look(), true);
  REQUIRE(engine->set_share("t2", {.floor = 20, .ceiling = 80}));
  compare(*engine, reading.look(), false);
  CHECK(reading.mirror.tenants().all.size() == 3);
  run(*engine, random, 4, 100);
  compare(*engine, reading.look(), false);
  CHECK_FALSE(engine->set_share("t2", {.floor = 90, .ceiling = 80}));
  compare(*engine, reading.look(), false);
}

TEST_CASE("tenants in the feed: without shares nothing is sent") {
  const auto engine = engine_of(kGroups);
  Reading reading(*engine);
  Random random(5);
  run(*engine, random, 6, 300);
  reading.look();
  CHECK(engine->counters().evicted_tokens > 0);
  CHECK(reading.mirror.tenants().all.empty());
  CHECK(reading.mirror.tenant_tokens().empty());
  for (const int kind : {event::TenantShare::kKind, event::TenantOfSpace::kKind, event::TenantEvicted::kKind})
    CHECK(reading.kinds[kind] == 0);
}

TEST_CASE("tenants in the feed: a mirror takes no damaged value") {
  const auto engine = engine_of(std::string(kGroups) + "tenants: { t0: { floor: 40 } }\n");
  Reading reading(*engine);
  serve(*engine, "t0", "", 100, 41);
  reading.look();
  const auto take = [&](const auto& event) {
    const Event events[] = {std::bit_cast<Event>(event), std::bit_cast<Event>(event::Commit{})};
    reading.mirror.take(events);
  };
  take(event::TenantShare{.tenant = 9});                            // not the next one
  take(event::TenantShare{.tenant = 2, .floor = 8, .ceiling = 4});  // a ceiling below the floor
  take(event::TenantShare{.tenant = 2, .weight = 0});
  take(event::TenantOfSpace{.tenant = 7, .space = NamespaceId{1}});   // no such tenant
  take(event::TenantOfSpace{.tenant = 0, .space = NamespaceId{70}});  // no such namespace
  take(event::TenantEvicted{.from = 1, .taker = 0, .tokens = ~std::uint64_t{0}});
  take(event::TenantEvicted{.from = event::kNoTenant, .taker = 1, .tokens = 4});
  take(event::TenantEvicted{.from = event::kSomeTenant, .taker = event::kNoTenant, .tokens = 4});
  compare(*engine, reading.mirror, true);
  take(event::TenantEvicted{.from = 6, .taker = 1, .tokens = 4});  // a payer that is not known
  CHECK(reading.mirror.tenants().payments.empty());
}

TEST_CASE("shares: a floor, then by weight what the floors of those with something leave, at most the ceiling") {
  inspector::MirrorTenants tenants;
  tenants.all.resize(4);
  tenants.all[1].floor = 100, tenants.all[1].weight = 2;
  tenants.all[2].ceiling = 50;
  tenants.all[3].floor = 30;
  CHECK(inspector::shares_of(tenants, {10, 10, 10, 0}, 500) == std::vector<double>{100, 300, 50, 30});
  CHECK(inspector::shares_of(tenants, {0, 10, 0, 0}, 500) == std::vector<double>{0, 500, 0, 30});
  CHECK(inspector::shares_of(tenants, {0, 0, 0, 0}, 500) == std::vector<double>{0, 100, 0, 30});
}

TEST_CASE("mirror: retention and ceilings change neither the node of a request's match nor the reason of its miss") {
  const auto engine = engine_of(
      "page_size: 4\ngroups:\n  full: { reach: path, capacity: 512, allocator: free_list, eviction: lru }\n"
      "tenants: { a: { pins: 64 }, b: { ceiling: 32 } }\nfeed: { heap: {} }\n");
  Reading reading(*engine);
  reading.look();
  const Retention wanted{32, 1'000};
  const auto serve = [&](const char* tenant, const std::vector<Token>& prompt, bool keeps) {
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern({tenant, "", ""});
    if (keeps) spec.retention = {&wanted, 1};
    Request request = engine->begin(spec);
    const std::uint64_t id = request.id();
    const inspector::MirrorRequest begun = *reading.look().request(id);
    REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
    request.finish(static_cast<std::uint32_t>(prompt.size()));
    return std::pair(begun, *reading.look().request(id));
  };
  const auto long_one = tokens(1, 65);
  serve("a", long_one, false);
  const auto kept = serve("a", long_one, true);
  const inspector::MirrorNode* const node = reading.mirror.find(kept.first.last_node);
  REQUIRE(node);
  CHECK(node->begin + node->length == 64);
  serve("b", tokens(200, 33), false);
  CHECK(serve("b", tokens(300, 33), false).second.miss == inspector::Miss::never_seen);  // the former one leaves
  CHECK(serve("b", tokens(200, 33), false).second.miss == inspector::Miss::evicted);
}
