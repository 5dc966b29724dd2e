/// The cost that is compared with a fetch, and the time that a request waits for one. Times are those that the tests
/// pass to turn().
#include <support/engines.h>

#include <algorithm>

#include <cache/tier_board.h>
#include <tiers/cost_model.h>
#include <tiers/prefetch.h>
#include <tiers/storage_calls.h>

using namespace canopy;
using namespace canopy::test;

namespace {

/// 16 pages of 4 tokens above, and room for many times that below; a token takes a millisecond in the lane, and a copy
/// 100 us besides.
const std::string kTiered =
    std::string(kSmall) + "tiers: { host: { capacity: 4000, latency: 100us, bandwidth: 1MB/s } }\n";
const std::string kPerToken = "tiers.recompute.per_token=";

std::unique_ptr<Engine> heavy_engine(const std::string& yaml, const std::vector<std::string>& changes = {},
                                     std::uint64_t latency = 0) {
  return engine_of(yaml, changes, nullptr, [&](EngineConfig& config) {
    config.host_tier.kv_bytes = 1000;
    config.storage_tier.kept_free_percent = 50;
    config.storage_tier.lane.latency_us = latency;
  });
}

/// Computes all of a prompt, and leaves it in the tier alone. Returns the time.
std::uint64_t put_below(Engine& engine, const std::vector<Token>& prompt, std::uint64_t now) {
  Request request = engine.begin(arrival(prompt));
  REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
  request.finish(static_cast<std::uint32_t>(prompt.size()));
  engine.make_free(0, 16);
  while (engine.tiers().next_end_us() != kUnlimited) engine.turn(now = std::max(now, engine.tiers().next_end_us()));
  return now;
}

std::uint64_t count(const Engine& engine, FetchOutcome outcome) {
  return engine.tiers().counters().at(Counter::fetches, outcome);
}
std::uint64_t count(const Engine& engine, FetchEnd end) {
  return engine.tiers().counters().at(Counter::fetch_ends, end);
}

}  // namespace

TEST_CASE("cost: computing is linear in the tokens and in those before each of them, in whole microseconds") {
  const CostModel model({.ns_per_token = 50'000, .ps_per_token_depth = 600});
  CHECK(model.recompute_us(0, 1000) == 50'000 + 300);
  CHECK(model.recompute_us(10'000, 1000) == 50'000 + 6300);
  CHECK(model.recompute_us(10'000, 0) == 0);
  CHECK(model.worth(56'299, 10'000, 1000));
  CHECK_FALSE(model.worth(56'300, 10'000, 1000));
  // In two pieces it takes as long.
  CHECK(model.recompute_us(0, 3000) == model.recompute_us(0, 1000) + model.recompute_us(1000, 2000));
  const CostModel dearest({.ns_per_token = 1'000'000'000, .ps_per_token_depth = 1'000'000});
  CHECK(dearest.recompute_us(1U << 31, 1U << 31) == std::uint64_t{1} << 40);  // and does not wrap
  const CostModel unknown({});
  CHECK_FALSE(unknown.known());
  CHECK(unknown.worth(kUnlimited, 0, 1));
}

TEST_CASE("cost: a storage that was slow is tried again after a while") {
  SeenRate seen;
  CHECK(seen.us(1 << 30) == 0);
  seen.add(1 << 20, 1000);
  CHECK(seen.us(1 << 20) == 1000);
  CHECK(seen.us(3 << 19) == 1500);
  for (int i = 0; i < 100; ++i) seen.add(2 << 20, 8000);
  CHECK(seen.us(1 << 20) > 3900);
  CHECK(seen.us(1 << 20) <= 4000);
  seen.add(0, 5);
  int tried = 0;
  for (int i = 0; i < 320; ++i) tried += seen.try_anyway();
  CHECK(tried == 10);
}

TEST_CASE("cost: the speed that is shown is what arrived in the time in which calls were pending, lately") {
  TierBoard::Speed speed;
  CHECK(speed.call_us() == kUnlimited);
  CHECK(speed.bandwidth() == kUnlimited);
  std::uint64_t now = 7;
  const auto call = [&](std::uint64_t us, std::uint64_t bytes) {
    speed.begun(now);
    speed.ended(now, now + us, bytes);
    now += us + 1'000'000;  // a second in which none is pending
  };
  for (int i = 0; i < 100; ++i) {
    call(100'000, 200'000);
    REQUIRE(speed.bandwidth() == 2'000'000);
    REQUIRE(speed.call_us() == 100'000);
  }
  for (int i = 0; i < 100; ++i) call(200'000, 100'000);
  CHECK(speed.bandwidth() < 505'000);
  CHECK(speed.bandwidth() > 495'000);
  CHECK(speed.call_us() > 199'900);
  speed.begun(now);
  speed.ended(now, now + 2'000'000, 0);  // one that brought nothing took its time as well
  CHECK(speed.bandwidth() < 260'000);
  // Two that were pending together take their time once.
  TierBoard::Speed both;
  both.begun(0);
  both.ended(0, 500, 1000);
  both.ended(100, 1000, 1000);
  CHECK(both.bandwidth() == 2'000'000);
}

TEST_CASE("cost: a fetch begins if it is faster than computing, with what the lane has to do first") {
  const auto prompt = tokens(100, 41), other = tokens(500, 21);
  // 40 tokens take 40,100 us in the lane.
  for (const auto& [set, comes] :
       {std::pair{kPerToken + "1003us", true}, {kPerToken + "1002us", false}, {std::string("page_size=4"), true}}) {
    CAPTURE(set);
    const auto engine = heavy_engine(kTiered, {set});
    engine->turn(put_below(*engine, prompt, 0));
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    CHECK(fetch.tokens() == (comes ? 40 : 0));
    CHECK(fetch.done() == !comes);
    CHECK(count(*engine, FetchOutcome::not_worth) == !comes);
  }
  const auto engine =
      heavy_engine(kTiered, {kPerToken + "1100us"});  // 20 tokens: 22,000 us, and 20,100 in a lane that is free
  const std::uint64_t now = put_below(*engine, other, put_below(*engine, prompt, 0));
  {
    const Fetch first = engine->tiers().fetch(arrival(prompt));
    CHECK(first.tokens() == 40);
    CHECK(engine->tiers().fetch(arrival(other)).done());
    CHECK(count(*engine, FetchOutcome::not_worth) == 1);
    engine->turn(now + 38'000);  // 2,100 us are left
    CHECK(engine->tiers().fetch(arrival(other)).done());
    engine->turn(now + 38'300);
    CHECK(engine->tiers().fetch(arrival(other)).tokens() == 20);
  }
  engine->turn(now + 1'000'000);
  CHECK(count(*engine, FetchEnd::unused) == 2);
  check_settled(*engine);
}

TEST_CASE("cost: a part that the pools had room for is weighed as what it is") {
  const auto prompt = tokens(100, 41);
  const auto engine = heavy_engine(kTiered, {kPerToken + "1010us"});  // 40 tokens: 40,400 us; 4 tokens: 4,040
  const std::uint64_t now = put_below(*engine, prompt, 0);
  const auto more = tokens(900, 60);
  Request runs = engine->begin(arrival(more));
  REQUIRE(runs.reserve(60));  // one page is left
  CHECK(engine->tiers().fetch(arrival(prompt)).done());
  CHECK(state_of(*engine).moving[0] == 0);
  CHECK(count(*engine, FetchEnd::unused) == 0);  // nothing was fetched
  runs.abort();
  engine->turn(now + 1);
  check_settled(*engine);
}

TEST_CASE("cost: a copy of the part that the pools had room for takes the time of that part") {
  const auto prompt = tokens(100, 41);
  const auto engine = heavy_engine(kTiered);
  const std::uint64_t now = put_below(*engine, prompt, 0);
  const auto more = tokens(900, 60);
  Request runs = engine->begin(arrival(more));
  REQUIRE(runs.reserve(60));  // one page is left
  const Fetch fetch = engine->tiers().fetch(arrival(prompt));
  CHECK(fetch.tokens() == 4);
  engine->turn(now + 4'099);
  CHECK_FALSE(fetch.done());
  engine->turn(now + 4'100);
  CHECK(fetch.done());
  runs.abort();
}

TEST_CASE("cost: how long a request waits is a policy's matter") {
  const auto prompt = tokens(100, 41);
  const auto ready_after = [&](const std::vector<std::string>& changes, std::uint64_t again_us = 0) {
    const auto engine = heavy_engine(kTiered, changes);
    const std::uint64_t now = put_below(*engine, prompt, 0);
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    REQUIRE(fetch.tokens() == 40);
    const std::uint64_t ready_us = fetch.ready_us(again_us);
    CHECK(fetch.ready(again_us) == (ready_us == 0));
    if (ready_us > now) {
      engine->turn(ready_us - 1);
      CHECK_FALSE(fetch.ready(again_us));
      engine->turn(ready_us);
      CHECK(fetch.ready(again_us));
      CHECK(fetch.done() == (ready_us == now + 40'100));
      CHECK(fetch.took_us() == ready_us - now);
    }
    return ready_us == 0 ? 0 : ready_us - now;
  };
  const std::string policy = "tiers.prefetch.policy=";
  CHECK(ready_after({policy + "best_effort"}) == 0);
  CHECK(ready_after({policy + "wait_complete"}) == 40'100);
  CHECK(ready_after({policy + "wait_complete", "tiers.prefetch.max=1us"}) == 40'100);
  CHECK(ready_after({}) == 40'100);  // the time for computing is not known
  CHECK(ready_after({kPerToken + "2ms"}) == 40'100);
  CHECK(ready_after({kPerToken + "2ms", "tiers.prefetch.max=5ms"}) == 5000);
  // ready() is called again when computing would have ended: there is no reason to wait so long.
  CHECK(ready_after({kPerToken + "2ms"}, 79'999) == 40'100);
  CHECK(ready_after({kPerToken + "2ms"}, 80'000) == 0);
}

TEST_CASE("cost: a request that begins too early computes the rest, and the copy runs to its end") {
  const auto prompt = tokens(100, 41);
  const auto engine = heavy_engine(kTiered, {"tiers.prefetch.policy=best_effort", kPerToken + "2ms"});
  const std::uint64_t now = put_below(*engine, prompt, 0);
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  REQUIRE(fetch.ready());
  {
    const Request request = engine->begin(arrival(prompt), std::move(fetch));
    CHECK(request.matched() == 0);
    CHECK(count(*engine, FetchEnd::late) == 1);
    CHECK(engine->tiers().counters()[Counter::fetch_saved_us] == 0);
    engine->turn(now + 40'100);
    CHECK(engine->begin(arrival(prompt), engine->tiers().fetch(arrival(prompt))).matched() == 40);
  }
  CHECK(count(*engine, FetchEnd::used) == 0);
  CHECK(count(*engine, FetchEnd::unused) == 0);
  engine->make_free(0, 16);
  engine->turn(now + 100'000);
  Fetch again = engine->tiers().fetch(arrival(prompt));
  engine->turn(now + 200'000);
  CHECK(engine->begin(arrival(prompt), std::move(again)).matched() == 40);
  CHECK(count(*engine, FetchEnd::used) == 1);
  CHECK(engine->tiers().counters()[Counter::fetch_saved_us] == 80'000);
  check_settled(*engine);
}

TEST_CASE("cost: a request that joins a fetch waits by the same rule, for its own part of it") {
  const auto prompt = tokens(100, 41);
  const std::vector<Token> front(prompt.begin(), prompt.begin() + 9);
  const auto engine = heavy_engine(kTiered, {kPerToken + "2ms"});
  const std::uint64_t now = put_below(*engine, prompt, 0);
  const Fetch first = engine->tiers().fetch(arrival(prompt)), same = engine->tiers().fetch(arrival(prompt)),
              shorter = engine->tiers().fetch(arrival(front));
  CHECK(count(*engine, FetchOutcome::joined) == 2);
  CHECK(shorter.tokens() == 8);
  CHECK(same.ready_us() == now + 40'100);
  CHECK(shorter.ready());  // computing 8 tokens takes 16,000 us
  engine->turn(now + 24'100);
  CHECK(shorter.ready());
  engine->turn(now + 24'101);
  CHECK(shorter.ready_us() == now + 40'100);
}

TEST_CASE("cost: a storage is not asked for what it takes longer to bring than to compute, and the host's part comes") {
  const std::string stored = std::string(kSmall) +
                             "model: { name: m, revision: r, dtype: bf16 }\n"
                             "tiers: { host: { capacity: 48, bandwidth: 1MB/s }, "
                             "storage: { in: sim_storage, bandwidth: 1MB/s }, recompute: { per_token: 0 } }\n";
  const auto prompt = tokens(100, 41);
  // For 40 tokens, the records take 80,960 us and the copy up 40,000.
  for (const auto& [per_token, comes] : {std::pair{"3020us", false}, {"3030us", true}, {"0", true}}) {
    CAPTURE(per_token);
    const auto engine = heavy_engine(stored, {kPerToken + per_token});
    std::uint64_t now = put_below(*engine, prompt, 0);
    REQUIRE(engine->tiers().counters()[Counter::written_tokens_storage] == 40);
    REQUIRE(state_of(*engine).below->index->sizes(0).evictable == 0);
    Fetch fetch = engine->tiers().fetch(arrival(prompt));
    CHECK(fetch.done() == !comes);
    CHECK(engine->tiers().counters().at(Counter::fetches_storage, BringOutcome::not_worth) == !comes);
    const std::uint64_t begun_us = now;
    while (!fetch.ready()) engine->turn(now = std::max(now, fetch.ready_us()));
    CHECK(now - begun_us == (comes ? 120'961 : 0));  // a find takes no time, and the next turn sees it
    CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == (comes ? 40 : 0));
    CHECK(engine->tiers().counters()[Counter::hit_tokens_storage] == (comes ? 40 : 0));
    while (engine->tiers().next_end_us() != kUnlimited) engine->turn(engine->tiers().next_end_us());
    check_settled(*engine);
  }
}

TEST_CASE("cost: of gets that follow each other in a lane each has its latency") {
  CacheState device;
  const StorageCalls calls({}, {.bytes_per_s = 1'000'000, .latency_us = 100}, device, true);
  CHECK(calls.get_us(1'000, 1, 7) == 1'100);
  CHECK(calls.get_us(3'000, 3, 7) == 3'300);
}

TEST_CASE("cost: what a storage is asked for is weighed without what the pools have") {
  const auto prompt = tokens(100, 41);
  // Pages take 30,000 us in the lanes and 12,096 each, and 16,000 each to compute. The storage has 5 that are missing.
  const auto engine = heavy_engine(std::string(kSmall) +
                                       "model: { name: m, revision: r, dtype: bf16 }\n"
                                       "tiers: { host: { capacity: 48, bandwidth: 1MB/s }, "
                                       "storage: { in: sim_storage, bandwidth: 1MB/s }, "
                                       "recompute: { per_token: 4ms } }\n",
                                   {}, 30'000);
  put_below(*engine, prompt, 0);
  REQUIRE(engine->tiers().counters()[Counter::written_tokens_storage] == 40);
  leave(*engine, {prompt.begin(), prompt.begin() + 20});
  CHECK(engine->tiers().fetch(arrival(prompt)).done());
  CHECK(engine->tiers().counters().at(Counter::fetches_storage, BringOutcome::not_worth) == 1);
  engine->make_free(0, 16);
  while (engine->tiers().next_end_us() != kUnlimited) engine->turn(engine->tiers().next_end_us());
}

TEST_CASE("cost: whether a storage has anything is waited for only if that takes little beside what it may save") {
  const auto engine = heavy_engine(std::string(kSmall) +
                                       "model: { name: m, revision: r, dtype: bf16 }\n"
                                       "tiers: { host: { capacity: 48, bandwidth: 1MB/s }, "
                                       "storage: { in: sim_storage, bandwidth: 1MB/s }, "
                                       "recompute: { per_token: 4ms } }\n",
                                   {}, 100);
  const Fetch fetch = engine->tiers().fetch(arrival(tokens(100, 41)));  // 160,000 us to compute
  CHECK(fetch.ready_us() == 100);
  CHECK_FALSE(fetch.ready(7'999));
  CHECK(fetch.ready(8'000));
  engine->turn(100);
  CHECK(fetch.done());
}
