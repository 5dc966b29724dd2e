#include <support/engines.h>

#include <optional>

using namespace canopy;
using namespace canopy::test;

namespace {

/// 16 pages of 4 tokens, and room for many times that below; a copy takes 100 us.
const std::string kTiered = std::string(kSmall) + "tiers: { host: { capacity: 4000, latency: 100us } }\n";

std::uint64_t count(const Engine& engine, FetchOutcome outcome) {
  return engine.tiers().counters().at(Counter::fetches, outcome);
}

std::uint64_t below(const Engine& engine) {
  const Sizes sizes = state_of(engine).below->index->sizes(0);
  return sizes.evictable + sizes.protected_;
}

}  // namespace

TEST_CASE("tiers: what is evicted is below after the turn that sees its copy end, and a fetch brings it back") {
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  CHECK(engine->index().sizes(0).evictable == 0);
  CHECK(below(*engine) == 0);
  CHECK(state_of(*engine).below->moving[0] == 10);
  CHECK(engine->tiers().next_end_us() == 100);
  engine->turn(99);
  CHECK(below(*engine) == 0);
  CHECK(engine->tiers().fetch(arrival(prompt)).done());
  CHECK(count(*engine, FetchOutcome::nothing) == 1);
  CHECK(engine->tiers().counters().at(Counter::resident_pages_host, 0) == 0);
  CHECK(engine->tiers().counters().at(Counter::moving_pages_host, 0) == 10);
  engine->turn(100);
  CHECK(below(*engine) == 40);
  CHECK(state_of(*engine).below->moving[0] == 0);
  CHECK(engine->tiers().counters().at(Counter::resident_pages_host, 0) == 10);
  CHECK(engine->tiers().counters().at(Counter::moving_pages_host, 0) == 0);

  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  CHECK_FALSE(fetch.done());
  CHECK(fetch.tokens() == 40);
  CHECK(fetch.ends_us() == 200);
  CHECK(state_of(*engine).moving[0] == 10);
  Fetch second = engine->tiers().fetch(arrival(prompt));
  CHECK(count(*engine, FetchOutcome::joined) == 1);
  CHECK(engine->begin(arrival(prompt)).matched() == 0);  // it does not wait
  engine->turn(200);
  CHECK(fetch.done());
  CHECK(second.done());
  CHECK(state_of(*engine).moving[0] == 0);
  CHECK_FALSE(engine->make_free(0, 7));  // the fetch holds its prefix for the request
  {
    Request request = engine->begin(arrival(prompt), std::move(fetch));
    CHECK(request.matched() == 40);
    CHECK(engine->tiers().counters()[Counter::hit_tokens_host] == 40);
    Request other = engine->begin(arrival(prompt), std::move(second));
    CHECK(other.matched() == 40);
    REQUIRE(request.reserve(41));
    REQUIRE(other.reserve(41));
    CHECK(engine->tiers().counters()[Counter::hit_tokens_host] ==
          40);  // the tokens of one fetch are one hit from below
  }
  CHECK(engine->counters().hit_tokens == 80);
  CHECK(engine->make_free(0, 16));
  check_settled(*engine);
}

TEST_CASE("tiers: an audit finds a page of the tier that has no owner") {
  const auto engine = engine_of(kTiered);
  leave(*engine, tokens(100, 41));
  engine->make_free(0, 16);
  engine->audit();  // pages on their way have one
  CHECK(engine->ledger().violations() == 0);
  Page taken = 0;
  REQUIRE(const_cast<CacheState&>(*state_of(*engine).below).pools[0].allocate({&taken, 1}, 7));
  engine->audit();
  REQUIRE(engine->ledger().violations() == 1);
  CHECK(engine->ledger().reports()[0] == "host tier: group 'full': page " + std::to_string(taken) +
                                             " is out and has 0 owners; it was last handed to request 7");
}

TEST_CASE("tiers: a fetch that is dropped keeps its pages until its copy has ended") {
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(100);
  {
    const Fetch dropped = engine->tiers().fetch(arrival(prompt));
  }
  CHECK(state_of(*engine).moving[0] == 10);
  CHECK(engine->pool(0).occupancy().free == 6);
  CHECK(engine->live_requests() == 1);
  engine->turn(200);
  CHECK(state_of(*engine).moving[0] == 0);
  CHECK(engine->index().sizes(0).evictable == 40);  // it came, and stays as any prefix does
  check_settled(*engine);
}

TEST_CASE("tiers: a fetch whose object a policy destroys, while a call runs, ends in the next turn") {
  struct Dropper final : EvictionStrategy {
    Fetch fetch;
    Rank rank(const NodeFacts& node) override {
      fetch = {};
      return {node.last_access};
    }
  };
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(100);
  const auto dropper = std::make_shared<Dropper>();
  REQUIRE(engine->use_policy(0, dropper));
  dropper->fetch = engine->tiers().fetch(arrival(prompt));
  engine->turn(200);
  REQUIRE(engine->index().sizes(0).protected_ == 40);  // it has arrived, and its object keeps it
  const std::uint64_t violations = engine->ledger().violations();
  leave(*engine, tokens(900, 9));  // ranks a node
  CHECK(engine->ledger().violations() == violations + 1);
  CHECK(engine->ledger().reports().back().find("Fetch::~Fetch was called while") != std::string::npos);
  engine->turn(300);
  CHECK(engine->index().sizes(0).protected_ == 0);
  CHECK(engine->live_requests() == 0);
}

TEST_CASE("tiers: a fetch that needs nothing of its storage goes on in the next turn, and says so") {
  const auto engine = engine_of(R"(
page_size: 4
groups:
  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }
  state: { reach: 1, every: 16, capacity: 400, allocator: free_list, eviction: lru }
tiers: { host: { capacity: 4000, latency: 100us }, storage: { in: sim_storage, bandwidth: 1GB/s } }
model: { name: m, revision: r, dtype: d }
)");
  const auto prompt = tokens(100, 65);
  leave(*engine, prompt);
  for (std::size_t g = 0; g < 2; ++g) engine->make_free(g, engine->pool(g).limit());
  const auto run_out = [&] {
    for (int turns = 0; engine->tiers().next_end_us() != kUnlimited && turns < 100; ++turns)
      engine->turn(engine->tiers().next_end_us());
  };
  run_out();
  // The host tier has all of it, and no state lies behind the one at 16 that this part could use.
  const std::vector<Token> part(prompt.begin(), prompt.begin() + 30);
  const Fetch fetch = engine->tiers().fetch(arrival(part));
  if (!fetch.done()) {
    CHECK(fetch.ends_us() < kUnlimited);
    CHECK(engine->tiers().next_end_us() < kUnlimited);
  }
  run_out();
  CHECK(fetch.done());
  CHECK(fetch.tokens() == 16);
}

TEST_CASE("tiers: a fetch takes the room that there is") {
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 41), other = tokens(900, 24);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(100);
  Request runs = engine->begin(arrival(other));
  REQUIRE(runs.reserve(48));  // 12 of 16 pages
  {
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    CHECK(fetch.tokens() == 16);
    CHECK(count(*engine, FetchOutcome::cut) == 1);
    engine->turn(300);
  }
  REQUIRE(runs.reserve(64));
  CHECK(engine->tiers().fetch(arrival(prompt)).done());
  CHECK(count(*engine, FetchOutcome::no_room) == 1);
  runs.abort();
  check_settled(*engine);
}

TEST_CASE("tiers: a fetch counts as hits only what it brought, also if others have added pages behind it") {
  for (const bool longer : {true, false}) {
    CAPTURE(longer);
    const auto engine = engine_of(kTiered);
    auto prompt = tokens(100, 41);
    leave(*engine, prompt);
    engine->make_free(0, 16);
    engine->turn(100);
    prompt.resize(61, 7);
    Fetch fetch = engine->tiers().fetch(arrival(prompt));
    engine->turn(200);
    REQUIRE(fetch.done());
    if (longer) leave(*engine, prompt);  // it adds 5 pages
    CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == (longer ? 60 : 40));
    CHECK(engine->tiers().counters()[Counter::hit_tokens_host] == 40);
  }
}

TEST_CASE("tiers: a flush takes what is below and what is on its way there") {
  const auto engine = engine_of(kTiered);
  leave(*engine, tokens(100, 41));
  engine->make_free(0, 16);
  engine->turn(100);
  leave(*engine, tokens(500, 41));
  engine->make_free(0, 16);
  CHECK(state_of(*engine).below->moving[0] == 10);
  engine->flush(NamespaceId::shared);
  CHECK(below(*engine) == 0);
  engine->turn(1000);
  CHECK(below(*engine) == 0);
  CHECK(engine->tiers().counters()[Counter::lost_tokens_host] == 40);
  CHECK(state_of(*engine).below->pools[0].occupancy().free == state_of(*engine).below->pools[0].occupancy().capacity);
  check_settled(*engine);
}

TEST_CASE("tiers: a flush takes the prefix that a copy to the host tier has locked") {
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 41);
  leave(*engine, {prompt.begin(), prompt.begin() + 25});
  engine->make_free(0, 16);
  engine->turn(100);
  CHECK(below(*engine) == 24);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  CHECK(state_of(*engine).below->moving[0] == 4);
  CHECK(state_of(*engine).below->index->sizes(0).protected_ == 24);
  engine->flush(NamespaceId::shared);
  CHECK(below(*engine) == 0);
  engine->turn(1000);
  CHECK(below(*engine) == 0);
  CHECK(engine->tiers().fetch(arrival(prompt)).done());
  check_settled(*engine);
}

TEST_CASE("tiers: what a fetch reads during a flush is not found again, neither below nor in the pools") {
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 17), other = tokens(500, 17);
  RequestSpec spec = arrival(other);
  spec.space = engine->intern({.tenant = "b"});
  {
    Request request = engine->begin(spec);
    REQUIRE(request.reserve(17));
    request.finish(17);
  }
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1000);
  CHECK(below(*engine) == 32);
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  CHECK_FALSE(fetch.done());
  engine->flush(NamespaceId::shared);
  CHECK(below(*engine) == 32);  // the store reads half of it
  const std::uint64_t nothing = count(*engine, FetchOutcome::nothing);
  CHECK(engine->tiers().fetch(arrival(prompt)).done());
  CHECK(count(*engine, FetchOutcome::nothing) == nothing + 1);
  // Pages that are computed now would be copied below pages from before the flush.
  leave(*engine, prompt);
  CHECK(engine->index().sizes(0).evictable == 16);
  engine->make_free(0, 16);
  CHECK(engine->tiers().counters()[Counter::lost_tokens_host] == 16);
  engine->turn(2000);
  CHECK(fetch.done());
  CHECK(fetch.tokens() == 0);
  CHECK(below(*engine) == 16);  // pages of the other namespace
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 0);
  check_settled(*engine);
  // The flush is over.
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(3000);
  CHECK(below(*engine) == 32);
  CHECK_FALSE(engine->tiers().fetch(arrival(prompt)).done());
  engine->turn(4000);
  check_settled(*engine);
}

TEST_CASE("tiers: a chain that leaves node by node is one copy, and what the tier has is not copied again") {
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 40);
  for (const std::ptrdiff_t length : {12, 24, 40}) leave(*engine, {prompt.begin(), prompt.begin() + length});
  engine->make_free(0, 16);
  CHECK(engine->tiers().counters()[Counter::written_tokens_host] == 40);
  engine->turn(100);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  CHECK(engine->tiers().counters()[Counter::written_tokens_host] == 40);
  CHECK(engine->tiers().next_end_us() == kUnlimited);
  check_settled(*engine);
}

TEST_CASE("tiers: what is on its way below is not copied again") {
  const auto engine = engine_of(kTiered);
  const auto prompt = tokens(100, 40);
  leave(*engine, {prompt.begin(), prompt.begin() + 24});
  engine->make_free(0, 16);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  CHECK(engine->tiers().counters()[Counter::written_tokens_host] == 40);
  engine->turn(1000);
  CHECK(below(*engine) == 40);
  CHECK(engine->tiers().counters()[Counter::lost_tokens_host] == 0);
  check_settled(*engine);
}

TEST_CASE("tiers: a fetch may outlive its engine, and what cannot be is said") {
  std::optional<Fetch> fetch;
  {
    const auto engine = engine_of(kTiered);
    const auto prompt = tokens(100, 41);
    leave(*engine, prompt);
    engine->make_free(0, 16);
    engine->turn(100);
    fetch = engine->tiers().fetch(arrival(prompt));
    CHECK_FALSE(fetch->done());
    RequestSpec nowhere = arrival(prompt);
    nowhere.space = NamespaceId{7};
    CHECK(engine->tiers().fetch(nowhere).done());
    REQUIRE(engine->ledger().violations() == 1);
    CHECK(engine->ledger().reports()[0].starts_with("Tiers::fetch: namespace 7 was never interned"));
  }
  CHECK(fetch->done());
}

TEST_CASE("tiers: without one nothing comes, and turns do nothing") {
  const auto engine = engine_of(kSmall);
  const std::uint64_t digest = engine->digest();
  engine->turn(5);
  CHECK(engine->tiers().fetch(arrival(tokens(100, 41))).done());
  CHECK(engine->tiers().next_end_us() == kUnlimited);
  CHECK(!engine->tiers().has_host());
  CHECK(engine->digest() == digest);
}

TEST_CASE("tiers: the same index work as without one, for requests that find nothing below") {
  const auto plain = engine_of(kSmall), tiered = engine_of(kTiered);
  for (Engine* const engine : {plain.get(), tiered.get()})
    for (Token first = 0; first < 1000; first += 50) leave(*engine, tokens(first, 41));
  CHECK(plain->counters().hit_tokens == tiered->counters().hit_tokens);
  CHECK(plain->counters().evicted_tokens == tiered->counters().evicted_tokens);
  CHECK(plain->index().now() == tiered->index().now());
}

TEST_CASE("tiers: of a path that is longer than there is room below, the front is copied, to the last page") {
  const auto engine = engine_of(kTiered, {"tiers.host.capacity=24"});
  leave(*engine, tokens(100, 41));
  engine->make_free(0, 16);
  CHECK(engine->tiers().counters()[Counter::written_tokens_host] == 24);
  CHECK(engine->tiers().counters()[Counter::dropped_tokens_host] == 16);
  engine->turn(100);
  CHECK(below(*engine) == 24);
  Fetch fetch = engine->tiers().fetch(arrival(tokens(100, 41)));
  engine->turn(200);
  CHECK(engine->begin(arrival(tokens(100, 41)), std::move(fetch)).matched() == 24);
  engine->make_free(0, 16);
  engine->turn(300);
  check_settled(*engine);
}
