/// The pages that are put into a storage, and the time of the put.
#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

TEST_CASE("storage: written through, pages stay in the host tier, under a lock until the put has ended") {
  const auto engine = stored_engine({"tiers.storage.write=through"});
  ByHand& storage = *ByHand::last;
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);
  const PrefixIndex& index = state_of(*engine).below->index->component();
  CHECK(storage.begun.size() == 3);  // calls of four records at most
  CHECK(index.sizes(0).protected_ == 40);
  CHECK(state_of(*engine).below->moving[0] == 0);
  {
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));  // others may read them meanwhile
    engine->turn(2);
    CHECK(engine->begin(arrival(prompt)).matched() == 40);
  }
  storage.end('p');
  CHECK(index.sizes(0).protected_ == 40);
  engine->turn(3);
  CHECK(index.sizes(0).protected_ == 0);
  CHECK(in_host(*engine) == 40);
  CHECK(storage.kept.size() == 10);
  CHECK(engine->tiers().counters()[Counter::written_tokens_storage] == 40);

  // Its continuation is put alone.
  auto longer = prompt;
  for (Token more = 0; more < 8; ++more) longer.push_back(more);
  leave(*engine, longer);
  engine->make_free(0, 16);
  engine->turn(4);
  REQUIRE(storage.begun.size() == 1);
  CHECK(storage.begun[0].keys.size() == 2);
  storage.end('p');
  engine->turn(5);
  CHECK(storage.kept.size() == 12);
  // The pages that leave the host tier are there, so nothing is put and nothing is lost.
  leave(*engine, tokens(700, 33));
  engine->make_free(0, 16);
  engine->turn(6);
  CHECK(in_host(*engine) == 32);
  CHECK(engine->tiers().counters()[Counter::dropped_tokens_storage] == 0);
  CHECK(storage.begun.size() == 2);
  storage.end('p', Fate::full);
  engine->turn(7);
  CHECK(engine->tiers().counters()[Counter::unkept_tokens_storage] == 32);
  // A refused prefix is put again with its continuation.
  auto refused = tokens(700, 33);
  for (Token more = 0; more < 4; ++more) refused.push_back(more);
  leave(*engine, refused);
  engine->make_free(0, 16);
  engine->turn(8);
  REQUIRE(storage.begun.size() == 3);
  storage.end('p');
  engine->turn(9);
  CHECK(storage.kept.size() == 21);
  check_settled(*engine);
}

TEST_CASE("storage: written through, what was put stays known for as long as its pages are in the host tier") {
  const auto engine = stored_engine({"tiers.storage.write=through"});
  ByHand& storage = *ByHand::last;
  std::uint64_t now = 0;
  const auto put_through = [&](Token first) {  // six of the host tier's twelve pages
    leave(*engine, tokens(first, 25));
    engine->make_free(0, 16);
    engine->turn(++now);
    CHECK(storage.begun.size() == 2);
    storage.end('p');
    engine->turn(++now);
  };
  // Each takes the pages of the one before the last, whichever numbers these have.
  for (Token first = 100; first < 700; first += 100) put_through(first);
  CHECK(storage.kept.size() == 36);
  CHECK(in_host(*engine) == 48);
  CHECK(engine->tiers().counters()[Counter::written_tokens_storage] == 144);
  CHECK(engine->tiers().counters()[Counter::dropped_tokens_storage] == 0);
  check_settled(*engine);
}

TEST_CASE("storage: written through, a flush takes what is being put as well") {
  const auto engine = stored_engine({"tiers.storage.write=through"});
  ByHand& storage = *ByHand::last;
  leave(*engine, tokens(100, 41));
  engine->make_free(0, 16);
  engine->turn(1);
  engine->flush(arrival(tokens(100, 41)).space);
  CHECK(in_host(*engine) == 40);  // the storage reads it
  storage.end('p');
  engine->turn(2);
  CHECK(in_host(*engine) == 0);
  CHECK(storage.kept.empty());
  check_settled(*engine);
}

TEST_CASE("storage: written through, a put that never ends keeps nothing from a later flush") {
  const auto engine = stored_engine({"tiers.storage.write=through"});
  leave(*engine, tokens(100, 41));
  engine->make_free(0, 16);
  engine->turn(1);
  engine->turn(40'000'000);  // the storage is no longer called
  REQUIRE(engine->doubts().size() == 1);
  CHECK(in_host(*engine) == 40);
  engine->flush(NamespaceId::shared);
  CHECK(in_host(*engine) == 0);
  leave(*engine, tokens(300, 13));
  engine->make_free(0, 16);
  engine->turn(40'000'001);
  CHECK(in_host(*engine) == 12);
  check_settled(*engine);
}

TEST_CASE("storage: written through, what is computed behind a flush stays, however many puts were pending") {
  const auto engine = stored_engine({"tiers.storage.write=through"});
  ByHand& storage = *ByHand::last;
  const auto down = [&](Token first, std::uint64_t now) {
    leave(*engine, tokens(first, 13));
    engine->make_free(0, 16);
    engine->turn(now);
  };
  down(100, 1);
  down(200, 2);
  REQUIRE(storage.begun.size() == 2);
  engine->flush(NamespaceId::shared);
  down(300, 3);  // is not copied while the storage reads pages from before the flush
  CHECK(in_host(*engine) == 24);
  CHECK(storage.begun.size() == 2);
  storage.end('p');
  engine->turn(4);
  CHECK(in_host(*engine) == 0);
  CHECK(storage.kept.empty());
  down(400, 5);
  down(500, 6);
  storage.end('p');
  engine->turn(7);
  CHECK(in_host(*engine) == 24);
  CHECK(storage.kept.size() == 6);
  check_settled(*engine);
}

TEST_CASE("storage: what a flush could not take, because it was read, is not put when it leaves") {
  const auto engine = stored_engine({"tiers.host.latency=100us"});
  ByHand& storage = *ByHand::last;
  const auto one = tokens(100, 13), two = tokens(200, 13), of_another = tokens(300, 5);
  leave(*engine, one);
  leave(*engine, two);
  engine->make_free(0, 16);
  engine->turn(200);
  REQUIRE(in_host(*engine) == 24);
  {
    const Fetch first = engine->tiers().fetch(arrival(one)), second = engine->tiers().fetch(arrival(two));
    REQUIRE(first.ends_us() == 300);
    REQUIRE(second.ends_us() == 400);
    RequestSpec spec = arrival(of_another);
    spec.space = engine->intern({.tenant = "x"});
    Request request = engine->begin(spec);
    REQUIRE(request.reserve(5));
    request.finish(5);
    engine->make_free(0, 10);
    engine->flush(NamespaceId::shared);
    engine->turn(300);  // the first is read, and the host tier is to have six free pages and has five
    engine->turn(400);
  }
  CHECK(std::ranges::count(storage.begun, 'p', &ByHand::Call::kind) == 0);
  CHECK(in_host(*engine) == 4);
  storage.end('f');
  engine->turn(500);
  check_settled(*engine);
}

TEST_CASE("storage: what is put is put behind what precedes it, so that what is there can be found") {
  const auto engine = stored_engine({"tiers.host.capacity=24"});
  ByHand& storage = *ByHand::last;
  auto prompt = tokens(100, 21);
  leave(*engine, prompt);
  for (std::size_t i = 16; i < prompt.size(); ++i) prompt[i] += 1000;
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);
  engine->turn(2);
  REQUIRE(storage.begun.size() == 3);  // the shared part, and the own part of each
  std::set<std::array<std::uint64_t, 4>> put;
  for (const ByHand::Call& call : storage.begun)
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
      PageKey before;  // the chain of the page before, by the record
      std::memcpy(&before, call.from[i] + 64, sizeof before);
      CHECK((put.empty() || put.contains(before.bits)));
      put.insert(call.keys[i].bits);
    }
  CHECK(put.size() >= 3);
  storage.end('p');
  engine->turn(3);
  check_settled(*engine);
}
