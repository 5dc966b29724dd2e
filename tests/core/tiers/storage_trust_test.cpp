/// The results of a storage are checked, and each tenant, model and layout has records of its own.
#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

TEST_CASE("storage: a record that is not the one that was put is a miss, and is removed") {
  for (const std::size_t damaged : {0U, 3U, 9U}) {
    CAPTURE(damaged);
    const auto engine = stored_engine();
    ByHand& storage = *ByHand::last;
    const auto prompt = put_down(*engine);
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    storage.end('f');
    engine->turn(2);
    PageKey key;
    std::size_t seen = 0;
    for (const ByHand::Call& call : storage.begun)
      for (const PageKey& one : call.keys)
        if (seen++ == damaged) key = one;
    storage.kept[key.bits][4096 + 17] ^= std::byte{4};
    storage.end('g');
    engine->turn(3);
    CHECK(in_host(*engine) + state_of(*engine).below->moving[0] * 4 == damaged * 4);
    engine->turn(4);
    CHECK(engine->tiers().counters()[Counter::damaged_records_storage] == 1);
    CHECK(storage.removed == 1);
    CHECK_FALSE(storage.kept.contains(key.bits));
    CHECK(brings(*engine, BringOutcome::damaged) == 1);
    CHECK(engine->begin(arrival(prompt)).matched() == damaged * 4);
    CHECK(engine->ledger().violations() == 0);
  }
}

TEST_CASE("storage: tenants, adapters and salts of one length are different ones") {
  const auto engine = stored_engine();
  const auto prompt = tokens(100, 41);
  const auto of = [&](const Space& tuple) {
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern(tuple);
    return spec;
  };
  Request request = engine->begin(of({"ab", "cd", "ef"}));
  REQUIRE(request.reserve(41));
  request.finish(41);
  engine->make_free(0, 16);
  engine->turn(1);
  ByHand::last->end('p');
  engine->turn(2);
  std::uint64_t now = 3, read = 0;
  const auto found = [&](const Space& tuple) {
    const Fetch fetch = engine->tiers().fetch(of(tuple));
    for (const char kind : {'f', 'g'}) {
      ByHand::last->end(kind);
      engine->turn(now++);
    }
    return engine->tiers().counters()[Counter::loaded_tokens_storage] -
           std::exchange(read, engine->tiers().counters()[Counter::loaded_tokens_storage]);
  };
  for (const Space& other : {Space{"ax", "cd", "ef"}, {"ab", "cx", "ef"}, {"ab", "cd", "ex"}}) CHECK(found(other) == 0);
  CHECK(found({"ab", "cd", "ef"}) == 40);
}

TEST_CASE("storage: another model, dtype, layout, tenant or salt finds nothing") {
  std::map<std::array<std::uint64_t, 4>, std::vector<std::byte>> kept;
  std::vector<Token> prompt;
  {
    const auto engine = stored_engine();
    prompt = put_down(*engine);
    kept = ByHand::last->kept;
  }
  const auto found = [&](const std::vector<std::string>& changes, const Space& tuple) {
    const auto engine = stored_engine(changes);
    ByHand::last->kept = kept;
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern(tuple);
    const Fetch fetch = engine->tiers().fetch(spec);
    ByHand::last->end('f');
    engine->turn(1);
    ByHand::last->end('g');
    engine->turn(2);
    return engine->tiers().counters()[Counter::loaded_tokens_storage];
  };
  CHECK(found({}, {}) == 40);
  CHECK(found({"groups.full.eviction=slru"}, {}) == 40);
  for (const char* const change : {"model.name=n", "model.revision=s", "model.dtype=fp8", "model.extra=x",
                                   "model.ranks=2", "store.host.layers=4", "store.host.streams.k=16"})
    CHECK(found({change}, {}) == 0);
  CHECK(found({}, {"t", "", ""}) == 0);
  CHECK(found({}, {"", "a", ""}) == 0);
  CHECK(found({}, {"", "", "s"}) == 0);
}

TEST_CASE("storage: one that could not flush a namespace has its records, and is no longer called") {
  const auto engine = stored_engine();
  const auto prompt = put_down(*engine);
  ByHand::throws = true;
  engine->flush(NamespaceId::shared);
  ByHand::throws = false;
  REQUIRE(engine->doubts().size() == 1);
  CHECK(engine->doubts()[0].sentence ==
        "page storage 'by_hand' (this test) could not flush namespace (shared), and is no longer called");
  const Fetch fetch = engine->tiers().fetch(arrival(prompt));
  for (const char kind : {'f', 'g'}) {
    ByHand::last->end(kind);
    engine->turn(2);
  }
  CHECK(fetch.done());
  CHECK(brings(*engine, BringOutcome::refused) == 1);
  CHECK(engine->begin(arrival(prompt)).matched() == 0);
}

TEST_CASE("storage: one that has lost records for want of memory is a doubt") {
  const auto engine = stored_engine();
  CHECK(engine->doubts().empty());
  ByHand::last->lacked = 2;
  REQUIRE(engine->doubts().size() == 1);
  CHECK(engine->doubts()[0].count == 2);
  CHECK(engine->doubts()[0].sentence ==
        "page storage 'by_hand' (this test) had not enough memory, 2 times: records are lost, or it is no longer used");
}

TEST_CASE("storage: one that throws or lies is found out, and one that ends no call is left") {
  auto engine = stored_engine();
  ByHand::throws = true;
  const auto prompt = tokens(100, 41);
  {
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    engine->turn(1);
    CHECK(fetch.done());
  }
  ByHand::throws = false;
  CHECK(brings(*engine, BringOutcome::failed) == 1);
  REQUIRE(engine->ledger().violations() == 1);
  CHECK(engine->ledger().reports()[0] == "page storage 'by_hand' (this test), find: it threw: no");
  const Fetch asks = engine->tiers().fetch(arrival(prompt));
  ByHand::lies = true;
  engine->turn(2);
  REQUIRE(engine->ledger().violations() == 2);
  CHECK(engine->ledger().reports()[1].ends_with("poll: call 4711 ended, which was not pending"));
  ByHand::last->end('f', static_cast<Fate>(200));
  engine->turn(3);
  REQUIRE(engine->ledger().violations() == 3);
  CHECK(engine->ledger().reports()[2].find("poll: the end of call") != std::string::npos);
  CHECK(brings(*engine, BringOutcome::failed) == 2);
  const Fetch third = engine->tiers().fetch(arrival(prompt));
  ByHand::repeats = true;
  engine->turn(4);
  REQUIRE(engine->ledger().violations() == 4);
  CHECK(engine->ledger().reports()[3].ends_with("ended, which was not pending"));

  engine = stored_engine();
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);
  CHECK(state_of(*engine).below->moving[0] == 10);
  engine->turn(40'000'000);
  CHECK(state_of(*engine).below->moving[0] == 10);  // lost
  REQUIRE(engine->doubts().size() == 1);
  CHECK(engine->doubts()[0].sentence ==
        "page storage 'by_hand' (this test) did not end a call 30 s after its time limit, and is no longer called");
  CHECK(engine->tiers().next_end_us() == kUnlimited);
  const Fetch refused = engine->tiers().fetch(arrival(prompt));
  CHECK(refused.done());
  CHECK(brings(*engine, BringOutcome::refused) == 1);
  engine->audit();
  CHECK(engine->ledger().violations() == 0);
}
