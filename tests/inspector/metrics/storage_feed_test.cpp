/// A feed's figures of a storage, and of an index that reports no nodes.
#include <canopy/engine/agreement.h>
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <metrics/families.h>
#include <metrics/server.h>
#include <metrics/tally.h>
#include <mirror/mirror.h>
#include <mirror/tier_words.h>
#include <support/engines.h>

#include <map>
#include <numeric>

#include "metrics_text.h"

using namespace canopy;
using namespace canopy::test;
using inspector::Mirror;
using inspector::MirrorNode;

namespace {

/// 16 pages of 4 tokens above, 12 below of which half is kept free, and a storage whose time is simulated.
constexpr const char* kStored =
    "page_size: 4\nindex: radix\n"
    "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n"
    "model: { name: m, revision: r, dtype: bf16 }\n"
    "tiers: { host: { capacity: 48 }, storage: { in: { sim_storage: {} }, bandwidth: 1GB/s } }\n"
    "feed: { heap: { events: 65536, tokens: true } }\n";

std::map<std::string, double> sampled(const metrics::Tally& tally) {
  std::map<std::string, double> samples;
  std::map<std::string, std::string> kinds;
  const auto families =
      metrics::families_of(tally.figures(), {metrics::Names::canopy, metrics::Names::sglang, metrics::Names::vllm}, {});
  CHECK(flaw_of_metrics(metrics::text_of(families), samples, kinds) == "");
  CHECK(labels_twice(samples).empty());
  return samples;
}

struct StorageServed {
  std::unique_ptr<Engine> engine;
  FeedReader reader{engine->feed()->writer().header()};
  Mirror mirror{engine->feed()->writer().header()};
  metrics::Tally tally{"test", 4};
  std::uint64_t now = 0;

  explicit StorageServed(const std::vector<std::string>& changes = {})
      : engine(engine_of(kStored, changes, nullptr, [](EngineConfig& config) {
          config.storage_tier.kept_free_percent = 50;
          if (config.storage_tier.lane.bytes_per_s > 0) config.storage_tier.lane.latency_us = 50;
        })) {
    tally.attach(engine->feed()->writer().header());
    engine->poll();
    look();
  }
  void look() {
    Event events[512];
    std::size_t count = 0;
    while (reader.read(events, std::size(events), count) == FeedReader::Outcome::events) {
      mirror.take({events, count});
      tally.take({events, count});
    }
  }
  void serve(Token first) {
    std::vector<Token> prompt(41);
    std::iota(prompt.begin(), prompt.end(), first);
    Fetch fetch = engine->tiers().fetch(arrival(prompt));
    for (int i = 0; i < 16 && !fetch.done(); ++i) engine->turn(now += 200);
    Request request = engine->begin(arrival(prompt), std::move(fetch));
    REQUIRE(request.reserve(41));
    request.finish(41);
    for (int i = 0; i < 4; ++i) engine->turn(now += 200);
  }
  const CounterValues& counters() {
    look();
    REQUIRE(!mirror.storage().empty());
    return mirror.counters();
  }
  const event::StorageHealth& health() {
    look();
    return mirror.storage_health();
  }
  std::map<std::string, double> samples() { return sampled(tally); }
};

/// All counters come with the feed as the engine has them, but for gauges that change without an operation.
void check_reported(const Mirror& mirror, const Engine& engine) {
  CHECK(mirror.storage() == "sim_storage");
  const CounterValues counted = engine.tiers().counters();
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    CHECK_MESSAGE(mirror.counters().at(counter, row, column) == counted.at(counter, row, column), info.name);
  });
}

}  // namespace

TEST_CASE("feed: its figures of a storage are the engine's counts, call by call and record by record") {
  StorageServed served;
  for (int round = 0; round < 2; ++round)
    for (Token first = 1000; first <= 6000; first += 1000) served.serve(first);
  for (int i = 0; i < 14; ++i) served.engine->begin(arrival(std::vector<Token>{9'999'999})).abort();  // sums follow
  const CounterValues& reported = served.counters();
  check_reported(served.mirror, *served.engine);
  REQUIRE(reported[Counter::loaded_tokens_storage] > 0);
  const auto get = StorageLane::get, put = StorageLane::put;
  const std::uint64_t got = reported.at(Counter::records_storage, get, Fate::done);
  const std::uint64_t kept = reported.at(Counter::records_storage, put, Fate::done);
  CHECK(got * 4 == reported[Counter::loaded_tokens_storage]);
  CHECK(kept * 4 == reported[Counter::written_tokens_storage]);
  CHECK(reported.at(Counter::moved_bytes_storage, get) == got * 4096);  // a record without an image
  CHECK(reported.at(Counter::pending_calls_storage, get) == 0);
  CHECK(reported.at(Counter::calls_storage, get) > 0);
  // A call of n records takes the latency and n records' bytes at a GB/s.
  CHECK(reported.at(Counter::call_us_storage, get) >= 50);
  CHECK(reported.at(Counter::call_us_storage, get) < 50 + 10 * 5 + 1);
  CHECK(reported.at(Counter::bandwidth_bytes_storage, get) != kUnlimited);
  CHECK(reported.at(Counter::moved_bytes_storage, StorageLane::find) == 0);
  CHECK(reported[Counter::kept_records_storage] > 0);
  CHECK(reported[Counter::kept_records_storage] <= kept);  // some were there already
  CHECK(served.health().state == StorageState::closed);
  CHECK(reported[Counter::held_bytes_storage] + reported[Counter::lost_bytes_storage] == 0);
  CHECK(served.mirror.drift() == 0);
  // A reader that comes now gets the same.
  FeedReader reader(served.engine->feed()->writer().header());
  Mirror mirror(served.engine->feed()->writer().header());
  served.engine->poll();
  Event events[4096];
  std::size_t count = 0;
  while (reader.read(events, std::size(events), count) == FeedReader::Outcome::events) mirror.take({events, count});
  check_reported(mirror, *served.engine);
}

TEST_CASE("feed: outcomes of fetches are the engine's counts, and have a metric each") {
  StorageServed served({"tiers.recompute={ per_token: 100ms }"});
  for (int round = 0; round < 2; ++round)
    for (Token first = 1000; first <= 6000; first += 1000) served.serve(first);
  std::vector<Token> prompt(41);
  std::iota(prompt.begin(), prompt.end(), Token{1000});
  for (const bool begins : {true, false}) {  // before anything has come; and never
    Fetch fetch = served.engine->tiers().fetch(arrival(prompt));
    for (int i = 0; i < 16 && !fetch.done() && !begins; ++i) served.engine->turn(served.now += 200);
    if (begins) served.engine->begin(arrival(prompt), std::move(fetch)).abort();
    fetch = {};
    for (int i = 0; i < 16; ++i) served.engine->turn(served.now += 200);
  }
  for (Token first = 1000; first <= 3000; first += 1000) served.serve(first);  // the sums come with some commits
  served.look();
  const CounterValues counted = served.engine->tiers().counters();
  for (std::size_t i = 0; i < std::size(NamesOf<FetchEnd>::kAll); ++i)
    REQUIRE_MESSAGE(counted.at(Counter::fetch_ends, i) > 0, NamesOf<FetchEnd>::kAll[i]);
  REQUIRE(counted[Counter::fetch_took_us] > 0);
  REQUIRE(counted[Counter::fetch_saved_us] > 0);
  const auto samples = served.samples();
  const auto of = [&](const std::string& name, const std::string& labels = "") {
    return samples.at(name + "{feed=\"test\",tier=\"host\"" + labels + "}");
  };
  CHECK(of("canopy_fetch_ends_total", ",outcome=\"used\"") ==
        static_cast<double>(counted.at(Counter::fetch_ends, FetchEnd::used)));
  CHECK(of("canopy_fetch_ends_total", ",outcome=\"late\"") ==
        static_cast<double>(counted.at(Counter::fetch_ends, FetchEnd::late)));
  CHECK(of("canopy_fetch_ends_total", ",outcome=\"unused\"") ==
        static_cast<double>(counted.at(Counter::fetch_ends, FetchEnd::unused)));
  CHECK(of("canopy_fetch_seconds_total") ==
        doctest::Approx(static_cast<double>(counted[Counter::fetch_took_us]) / 1e6));
  CHECK(of("canopy_prefill_saved_seconds_total") ==
        doctest::Approx(static_cast<double>(counted[Counter::fetch_saved_us]) / 1e6));
  CHECK(samples.at("canopy_fetches_outwaited_total{feed=\"test\",tier=\"storage\"}") ==
        static_cast<double>(served.engine->tiers().counters()[Counter::abandoned_fetches_storage]));
  CHECK(metrics::flaw_of_label("tier") != "");
}

TEST_CASE("feed: a fetch that does not wait for a storage to the end is reported as such") {
  // In real time: a call ends at one of the next thousand turns, and computing what it brings takes two of them.
  StorageServed served(
      {"tiers.storage.bandwidth=0", "tiers.storage.in.sim_storage.linger=1000", "tiers.recompute.per_token=10us"});
  for (Token first = 1000; first <= 6000; first += 1000) served.serve(first);
  std::vector<Token> prompt(41);
  std::iota(prompt.begin(), prompt.end(), Token{1000});
  for (int i = 0; i < 8; ++i) {
    const Fetch fetch = served.engine->tiers().fetch(arrival(prompt));
    for (int turn = 0; turn < 100; ++turn) served.engine->turn(served.now += 200);
  }
  REQUIRE(served.engine->tiers().counters()[Counter::abandoned_fetches_storage] > 0);
  CHECK(served.counters()[Counter::abandoned_fetches_storage] ==
        served.engine->tiers().counters()[Counter::abandoned_fetches_storage]);
}

TEST_CASE("metrics: what prefill fetches saved is absent where computing has no known time, not 0") {
  StorageServed served;
  for (int round = 0; round < 2; ++round)
    for (Token first = 1000; first <= 6000; first += 1000) served.serve(first);
  REQUIRE(served.engine->tiers().counters().at(Counter::fetch_ends, FetchEnd::used) > 0);
  served.look();
  CHECK_FALSE(served.samples().contains("canopy_prefill_saved_seconds_total{feed=\"test\",tier=\"host\"}"));
}

TEST_CASE("feed: parts of the tier's tree that came from a storage are marked") {
  StorageServed served({"tiers.host.capacity=160"});  // room for all that is loaded
  for (Token first = 1000; first <= 9000; first += 1000) served.serve(first);
  const std::uint64_t before = served.counters()[Counter::loaded_tokens_storage];
  served.serve(1000);
  const std::uint64_t read = served.counters()[Counter::loaded_tokens_storage] - before;
  REQUIRE(read > 0);
  REQUIRE(served.mirror.below());
  std::uint64_t marked = 0;
  served.mirror.below()->each_node([&](const MirrorNode& node) { marked += node.from_storage(); });
  CHECK(marked == read);
  served.mirror.each_node(
      [&](const MirrorNode& node) { CHECK(node.from_storage() == 0); });  // those of the pools are not marked
}

TEST_CASE("feed: a storage that fails is shown as not called, and for how long") {
  StorageServed served({"tiers.storage.in.sim_storage.failed=1"});
  for (Token first = 1000; served.health().state == StorageState::closed && first <= 40000; first += 1000)
    served.serve(first);
  const event::StorageHealth reported = served.health();
  REQUIRE(reported.state == StorageState::open);
  CHECK(served.counters()[Counter::breaks_storage] == 1);
  CHECK(reported.until_us > served.now);
  const std::string words = inspector::breaker_words(reported, reported.until_us - 100'000);
  CHECK_MESSAGE(words == "not called for another 0.1 s", words);
  CHECK(served.samples().at("canopy_tier_breaker{feed=\"test\",tier=\"storage\",state=\"open\"}") == 1);
  served.engine->turn(reported.until_us);
  CHECK(served.health().state == StorageState::half_open);
}

TEST_CASE("metrics: a storage has figures of its own, and HiCache's names where it has them") {
  StorageServed served;
  for (int round = 0; round < 2; ++round)
    for (Token first = 1000; first <= 6000; first += 1000) served.serve(first);
  served.look();
  const auto samples = served.samples();
  const CounterValues stored = served.engine->tiers().counters();
  const auto of = [&](const std::string& name, const std::string& labels) {
    const auto at = samples.find(name + "{feed=\"test\",tier=\"storage\"" + labels + "}");
    REQUIRE_MESSAGE(at != samples.end(), name << labels);
    return static_cast<std::uint64_t>(at->second);
  };
  CHECK(of("canopy_tier_written_tokens_total", "") == stored[Counter::written_tokens_storage]);
  CHECK(of("canopy_tier_hit_tokens_total", "") == served.engine->tiers().counters()[Counter::hit_tokens_storage]);
  CHECK(of("canopy_lane_records_total", ",lane=\"get\",outcome=\"done\"") * 4 ==
        stored[Counter::loaded_tokens_storage]);
  CHECK(of("canopy_fetches_total", ",outcome=\"whole\"") == stored.at(Counter::fetches_storage, BringOutcome::whole));
  CHECK(of("canopy_tier_breaker", ",state=\"closed\"") == 1);
  CHECK(samples.at("sglang:prefetched_tokens_total{model_name=\"test\"}") ==
        static_cast<double>(stored[Counter::loaded_tokens_storage]));
  CHECK(samples.at("sglang:backuped_tokens_total{model_name=\"test\"}") ==
        static_cast<double>(stored[Counter::written_tokens_storage]));
  // The engine reports every few operations which hits a fetch had brought.
  const std::uint64_t hits = served.engine->counters().hit_tokens;
  for (Token first = 100'000; first <= 600'000; first += 100'000) served.serve(first);
  served.look();
  REQUIRE(served.engine->counters().hit_tokens == hits);
  const auto later = served.samples();
  const auto cached = [&](const char* source) {
    return later.at(std::string("sglang:cached_tokens_total{model_name=\"test\",cache_source=\"") + source + "\"}");
  };
  CHECK(cached("device") + cached("host") + cached("storage") == static_cast<double>(hits));
  // If the storage does not report its records, their figures are absent.
  CHECK(samples.contains("canopy_tier_records{feed=\"test\",tier=\"storage\"}"));
  CHECK_FALSE(samples.contains("canopy_tier_capacity_bytes{feed=\"test\",tier=\"storage\"}"));
}

TEST_CASE("feed: of an index that reports no nodes, the sums are the engine's own, and the rest is not known") {
  const auto engine = engine_of(
      "page_size: 4\nindex: hash_chain\n"
      "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\nfeed: { heap: {} }\n");
  FeedReader reader(engine->feed()->writer().header());
  Mirror mirror(engine->feed()->writer().header());
  metrics::Tally tally("test", 4);
  tally.attach(engine->feed()->writer().header());
  engine->poll();
  const auto serve = [&](Token first) {
    std::vector<Token> prompt(21);
    std::iota(prompt.begin(), prompt.end(), first);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(21));
    request.finish(21);
  };
  for (Token first : {1000U, 2000U, 3000U, 4000U, 5000U, 1000U, 5000U}) {
    serve(first);
    Event events[512];
    std::size_t count = 0;
    while (reader.read(events, std::size(events), count) == FeedReader::Outcome::events) {
      mirror.take({events, count});
      tally.take({events, count});
    }
    REQUIRE(mirror.in_step());
    CHECK(mirror.drift() == 0);
    const Sizes sizes = engine->index().sizes(0);
    CHECK(mirror.pool(0).counted.evictable == sizes.evictable / 4);
    CHECK(mirror.pool(0).counted.protected_ == sizes.protected_ / 4);
    CHECK(mirror.pool(0).counted.free == engine->pool(0).occupancy().free);
    CHECK(mirror.pool(0).counted.owned == 0);
  }
  CHECK(mirror.no_nodes() == "hash_chain keeps blocks in a table, not in a tree");
  CHECK(mirror.node_count() == 0);
  CHECK(mirror.requests().size() == 7);
  CHECK(mirror.why_missed(mirror.requests().front()).starts_with("not known: hash_chain keeps blocks"));
  const auto samples = sampled(tally);
  CHECK(samples.contains("canopy_hit_rate{feed=\"test\"}"));
  for (const auto& [name, value] : samples)
    for (const char* unknown : {"canopy_tree_nodes", "canopy_feed_drift", "canopy_evicted_tokens", "sglang:evicted"})
      CHECK_MESSAGE(!name.starts_with(unknown), name);
}

namespace {

/// Another rank, whose calls end a turn later, and whose records are one fewer.
class LaterRank final : public Agreement {
 public:
  bool differs = false;
  const char* least(std::span<std::int64_t> values) override {
    if (differs) return "it is gone";
    for (std::size_t how = 4; how < values.size(); how += kSlotValues) {
      bool& held = held_[how];
      if (held = values[how] != 0 && !held; held) values[how] = 0;
      else if (values[how] != 0 && values[how + 1] > 0) --values[how + 1];
    }
    return nullptr;
  }

 private:
  std::array<bool, kValues> held_{};
};

}  // namespace

TEST_CASE("feed: one of several ranks reports which calls wait for the others, and which ended worse there") {
  auto document = parse_yaml(kStored, "test");
  auto config = read_engine_config(*document, plugins());
  REQUIRE(config);
  config->storage_tier.kept_free_percent = 50;
  config->storage_tier.lane.latency_us = 50;
  LaterRank other;
  auto engine = Engine::create(*config, plugins(), nullptr, &other);
  REQUIRE(engine);
  FeedReader reader((*engine)->feed()->writer().header());
  Mirror mirror((*engine)->feed()->writer().header());
  std::uint64_t now = 0;
  std::uint64_t most_awaited = 0;
  const auto turn = [&] {
    (*engine)->turn(now += 200);
    Event events[4096];
    std::size_t count = 0;
    while (reader.read(events, std::size(events), count) == FeedReader::Outcome::events) mirror.take({events, count});
    const std::uint64_t awaited = mirror.counters()[Counter::awaited_calls_storage];
    if (mirror.storage_health().ranks != RanksState::alone) most_awaited = std::max(most_awaited, awaited);
  };
  (*engine)->poll();
  for (Token first = 1000; first <= 9000; first += 1000) {
    const auto prompt = tokens(first, 41);
    Request request = (*engine)->begin(arrival(prompt));
    REQUIRE(request.reserve(41));
    request.finish(41);
    for (int i = 0; i < 4; ++i) turn();
  }
  CHECK(most_awaited > 0);
  CHECK(mirror.counters()[Counter::awaited_calls_storage] == 0);
  CHECK(mirror.counters()[Counter::worse_calls_storage] > 0);
  CHECK(mirror.storage_health().ranks == RanksState::together);
  other.differs = true;
  turn();
  CHECK(mirror.storage_health().ranks == RanksState::stopped);
  CHECK(inspector::breaker_words(mirror.storage_health(), now).find("disagreed") != std::string::npos);
}
