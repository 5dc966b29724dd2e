/// An engine brings from a storage what it has, waits no longer than that is worth, and lets go of it.
#include <canopy/base/random.h>

#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

TEST_CASE("storage: pages are moving until a put has ended, and until a get has, whatever the storage does meanwhile") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);  // ten pages have come to the host tier, of which six are to be free: four leave, as one node does
  CHECK(in_host(*engine) == 0);
  CHECK(state_of(*engine).below->moving[0] == 10);
  CHECK(storage.begun.size() == 3);  // calls of four records at most
  CHECK(engine->tiers().in_real_time());
  storage.end('p');
  CHECK(state_of(*engine).below->moving[0] == 10);  // nothing changes outside turn()
  engine->turn(2);
  CHECK(state_of(*engine).below->moving[0] == 0);
  CHECK(engine->tiers().counters()[Counter::written_tokens_storage] == 40);
  CHECK(engine->tiers().next_end_us() == kUnlimited);

  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  CHECK_FALSE(fetch.done());
  storage.end('f');
  CHECK(state_of(*engine).below->moving[0] == 0);
  engine->turn(3);
  CHECK(state_of(*engine).below->moving[0] == 10);
  CHECK(engine->begin(arrival(prompt)).matched() == 0);  // it does not wait
  storage.end('g');
  CHECK(in_host(*engine) == 0);
  engine->turn(4);
  CHECK(engine->tiers().counters()[Counter::loaded_tokens_storage] == 40);
  engine->turn(5);
  CHECK(fetch.done());
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 40);
  CHECK(engine->tiers().counters()[Counter::hit_tokens_storage] == 40);
  CHECK(engine->tiers().counters()[Counter::hit_tokens_host] == 0);
  CHECK(brings(*engine, BringOutcome::whole) == 1);
  storage.end('p');
  engine->turn(6);
  check_settled(*engine);
}

TEST_CASE(
    "storage: what continues a prefix that the pools alone have is brought, and the prefix is copied down for it") {
  const auto engine = stored_engine({"tiers.host.latency=100us"});
  ByHand& storage = *ByHand::last;
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(100);
  storage.end('p');
  engine->turn(101);
  REQUIRE(storage.kept.size() == 10);
  REQUIRE(in_host(*engine) == 0);
  leave(*engine, {prompt.begin(), prompt.begin() + 20});
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  REQUIRE(storage.begun.size() == 1);
  CHECK(storage.begun[0].keys.size() == 5);
  storage.end('f');
  engine->turn(200);
  CHECK(state_of(*engine).below->moving[0] == 10);  // five come down, and five from the storage
  storage.end('g');
  engine->turn(201);
  CHECK(in_host(*engine) == 0);
  CHECK(state_of(*engine).below->moving[0] == 10);  // the five from the storage wait
  CHECK(engine->tiers().next_end_us() == 300);
  engine->turn(300);
  CHECK(in_host(*engine) == 40);
  engine->turn(400);
  REQUIRE(fetch.done());
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 40);
  CHECK(engine->tiers().counters()[Counter::hit_tokens_storage] == 20);
  CHECK(engine->tiers().counters()[Counter::hit_tokens_host] == 0);
  storage.end('p');
  engine->turn(500);
  check_settled(*engine);
}

TEST_CASE("storage: what is late holds up no request, and its pages are kept until the storage has ended the call") {
  const auto engine = stored_engine({"tiers.storage.within=1ms"},
                                    [](EngineConfig& config) { config.storage_tier.find_limit_us = 500; });
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  {
    const Fetch asks = engine->tiers().fetch(arrival(prompt));
    engine->turn(400);
    CHECK_FALSE(asks.done());
    engine->turn(501);
    CHECK(asks.done());
    CHECK(brings(*engine, BringOutcome::late) == 1);
  }
  storage.end('f');
  engine->turn(502);
  const Fetch fetch = engine->tiers().fetch(arrival(prompt));
  storage.end('f');
  engine->turn(503);
  CHECK(state_of(*engine).below->moving[0] == 10);
  engine->turn(1502);  // the records have their time since they were asked for
  CHECK_FALSE(fetch.done());
  engine->turn(1503);
  CHECK(fetch.done());
  CHECK(brings(*engine, BringOutcome::late) == 2);
  CHECK(state_of(*engine).below->moving[0] == 10);  // the storage may still write there
  engine->audit();
  storage.end('g');
  engine->turn(1600);
  CHECK(state_of(*engine).below->moving[0] == 0);
  CHECK(in_host(*engine) == 0);  // it came too late for its request
  check_settled(*engine);
}

TEST_CASE("storage: what is shown as pending is what the storage has not ended, in calls and in bytes") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  Random random(36);
  std::uint64_t now = 0, moved = 0;
  for (int round = 0; round < 200; ++round) {
    const auto prompt = tokens(static_cast<Token>(100 * random.below(6)), 41);
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    if (random.one_in(2)) {
      leave(*engine, prompt);
      engine->make_free(0, 16);
    }
    for (int turn = 0; turn < 3; ++turn) {
      for (const char kind : {'f', 'g', 'p'})
        if (random.one_in(2)) {
          for (const ByHand::Call& call : storage.begun)
            if (call.kind == kind && kind != 'f') moved += call.keys.size() * storage.record_bytes();
          storage.end(kind);
        }
      engine->turn(now += 10);
      check_pending(*engine);
    }
  }
  const CounterValues& shown = engine->tiers().counters();
  CHECK(moved > 0);
  CHECK(shown.at(Counter::moved_bytes_storage, StorageLane::get) +
            shown.at(Counter::moved_bytes_storage, StorageLane::put) ==
        moved);
  for (const char kind : {'f', 'g', 'p'}) storage.end(kind);
  engine->turn(now + 10);
}

TEST_CASE("storage: a flush takes what is on its way from it, and says if it cannot be promised") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  const Fetch fetch = engine->tiers().fetch(arrival(prompt));
  storage.end('f');
  engine->turn(2);
  const auto kept = storage.kept;
  engine->flush(NamespaceId::shared);
  CHECK(storage.kept.empty());
  storage.kept = kept;
  storage.end('g');
  engine->turn(3);
  CHECK(fetch.done());
  CHECK(in_host(*engine) == 0);
  CHECK(brings(*engine, BringOutcome::gone) == 1);  // although all of it has arrived
  CHECK(brings(*engine, BringOutcome::whole) == 0);
  CHECK(engine->doubts().empty());
  storage.reachable = false;
  for (int i = 0; i < 3; ++i) engine->flush(NamespaceId::shared);
  REQUIRE(engine->doubts().size() == 1);
  CHECK(engine->doubts()[0].sentence.starts_with("namespace (shared) was flushed while its storage was out of reach"));
  check_settled(*engine);
}

TEST_CASE("storage: a fetch waits no longer than computing takes, and what comes later is there for others") {
  const auto engine = stored_engine({"tiers.recompute.per_token=10us"});  // 40 tokens: 400 us
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  engine->turn(5000);
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  storage.end('f');
  engine->turn(5399);
  CHECK_FALSE(fetch.done());
  CHECK_FALSE(fetch.ready());
  engine->turn(5400);
  CHECK(fetch.done());
  CHECK(engine->tiers().counters()[Counter::abandoned_fetches_storage] == 1);
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 0);
  storage.end('g');
  engine->turn(6200);
  CHECK(engine->tiers().counters()[Counter::loaded_tokens_storage] == 40);
  CHECK(brings(*engine, BringOutcome::whole) == 1);

  // It took 800 us: it is not worth it any more, until it is tried once again.
  const auto other = tokens(500, 41);
  storage.end('p');
  engine->turn(6300);
  leave(*engine, other);
  engine->make_free(0, 16);
  engine->turn(6301);
  storage.end('p');
  engine->turn(6302);
  REQUIRE(storage.kept.size() == 20);
  int refused = 0;
  while (engine->tiers().fetch(arrival(other)).done() && refused < 100) ++refused;
  CHECK(refused == 31);
  CHECK(brings(*engine, BringOutcome::not_worth) == 31);
  storage.end('f');
  engine->turn(7000);
  CHECK(std::ranges::count(storage.begun, 'g', &ByHand::Call::kind) == 3);
  storage.end('g');
  engine->turn(7001);
  CHECK(engine->tiers().counters()[Counter::loaded_tokens_storage] == 80);
  storage.end('p');
  engine->turn(7002);
  check_settled(*engine);
}

TEST_CASE("storage: what is on its way takes a share of the host tier, unless it comes alone") {
  for (const auto& [share, second] : {std::pair{25U, 0}, {100U, 2}}) {
    CAPTURE(share);
    const auto engine =
        stored_engine({}, [&, percent = share](EngineConfig& config) { config.storage_tier.gets_percent = percent; });
    ByHand& storage = *ByHand::last;
    const auto prompt = put_down(*engine), other = tokens(500, 41);
    leave(*engine, other);
    engine->make_free(0, 16);
    engine->turn(2);
    storage.end('p');
    engine->turn(3);
    REQUIRE(storage.kept.size() == 20);
    {
      const Fetch one = engine->tiers().fetch(arrival(prompt)), two = engine->tiers().fetch(arrival(other));
      storage.end('f');
      engine->turn(4);
      CHECK(state_of(*engine).below->moving[0] == static_cast<std::uint64_t>(10 + second));
      CHECK(brings(*engine, BringOutcome::no_room) == (second == 0));
      storage.end('g');
      engine->turn(5);
    }
    storage.end('p');
    engine->turn(6);
    engine->turn(7);
    check_settled(*engine);
  }
}

TEST_CASE("storage: after five failures it is not called, then on trial, and then as before") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  const auto asks = [&](Fate fate, std::uint64_t now) {
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    const bool has_begun = !storage.begun.empty();
    storage.end('f', fate);
    engine->turn(now);
    storage.end('g');
    engine->turn(now);
    return has_begun;
  };
  for (std::uint64_t now = 2; now < 7; ++now) CHECK(asks(Fate::failed, now));
  CHECK(engine->tiers().counters()[Counter::breaks_storage] == 1);
  CHECK(state_of(*engine).board.health.state == StorageState::open);
  CHECK_FALSE(asks(Fate::done, 1000));
  CHECK(brings(*engine, BringOutcome::refused) == 1);
  engine->turn(200'000);
  CHECK(state_of(*engine).board.health.state == StorageState::half_open);
  storage.kept.clear();  // so that each is asked for again
  for (std::uint64_t now = 200'001; now < 200'004; ++now) {
    CHECK(state_of(*engine).board.health.state == StorageState::half_open);
    CHECK(asks(Fate::done, now));
  }
  CHECK(state_of(*engine).board.health.state == StorageState::closed);
  CHECK(engine->tiers().counters()[Counter::breaks_storage] == 1);
  check_settled(*engine);
}

TEST_CASE("storage: it gets all memory that records lie in, before they do") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  const auto was_announced = [&](const std::byte* record) {
    return std::ranges::any_of(storage.memory, [&](std::span<std::byte> some) {
      return record >= some.data() && record + 4096 <= some.data() + some.size();
    });
  };
  CHECK(storage.memory.empty());
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);
  std::size_t records = 0;
  for (const ByHand::Call& call : storage.begun)
    for (const std::byte* const record : call.from) {
      CHECK(was_announced(record));
      ++records;
    }
  CHECK(records == 10);
  for (const std::span<std::byte> some : storage.memory) {
    CHECK(reinterpret_cast<std::uintptr_t>(some.data()) % 4096 == 0);
    CHECK(some.size() % 4096 == 0);
  }
  storage.end('p');
  engine->turn(2);
  check_settled(*engine);
}
