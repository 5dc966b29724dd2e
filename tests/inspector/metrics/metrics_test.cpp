/// The figures of `canopy export`: equal to the engine's own, absent where they are not known, and a text by the rules.
#include <canopy/feed/reader.h>
#include <conformance/model/effort.h>
#include <doctest/doctest.h>
#include <metrics/families.h>
#include <metrics/server.h>
#include <metrics/tally.h>
#include <support/engines.h>
#include <support/random_requests.h>

#include <algorithm>
#include <bit>

#include "metrics_text.h"

using namespace canopy;
using namespace canopy::test;
using metrics::Figures;
using metrics::Names;
using metrics::Tally;

namespace {

struct Reading {
  Reading(Engine& of, std::size_t tenants)
      : engine(of), reader(of.feed()->writer().header()), tally("serve-1", tenants) {
    tally.attach(of.feed()->writer().header());
  }
  Figures look() {
    engine.poll();
    Event events[512];
    for (std::size_t count = 0;;) {
      const auto outcome = reader.read(events, std::size(events), count);
      if (outcome == FeedReader::Outcome::nothing) return tally.figures();
      if (outcome == FeedReader::Outcome::lapped) tally.lost();
      else tally.take({events, count});
    }
  }
  Engine& engine;
  FeedReader reader;
  Tally tally;
};

const std::vector<Names> kAll = {Names::canopy, Names::sglang, Names::vllm};

std::map<std::string, double> samples_of(const Figures& figures, const metrics::Labels& labels = {}) {
  std::map<std::string, double> samples;
  std::map<std::string, std::string> kinds;
  CHECK(flaw_of_metrics(metrics::text_of(metrics::families_of(figures, kAll, labels)), samples, kinds) == "");
  return samples;
}

/// Deepest end and number of nodes, from the index.
struct TreeWalk final : NodeVisitor {
  std::uint64_t nodes = 0, depth = 0;
  void node(const NodeView& view) override {
    ++nodes;
    depth = std::max<std::uint64_t>(depth, std::uint64_t{view.facts.begin} + view.facts.length);
  }
};

void serve(Engine& engine, const std::vector<Token>& prompt, NamespaceId space = {}) {
  RequestSpec spec = arrival(prompt);
  spec.space = space;
  Request request = engine.begin(spec);
  if (request.reserve(static_cast<std::uint32_t>(prompt.size())))
    request.finish(static_cast<std::uint32_t>(prompt.size()));
}

}  // namespace

TEST_CASE("metrics: running figures equal the engine's, over random requests") {
  const auto engine = engine_of(kTwoGroups);
  Reading reading(*engine, 2);
  reading.look();
  RandomRequests requests(*engine, plugins(), 3, 3, true, false);
  std::map<std::string, double> before;
  for (std::size_t i = 0; i < std::max<std::size_t>(600, with_effort(600)); ++i) {
    requests.run(1);
    const Figures figures = reading.look();
    REQUIRE(figures.now);
    if (i % 16 != 0) continue;
    TreeWalk walk;
    engine->index().visit(walk);
    REQUIRE(figures.now->nodes == walk.nodes);
    REQUIRE(figures.now->depth == walk.depth);
    REQUIRE(figures.now->drift == 0);
    const Sizes sizes = engine->index().sizes(0);
    REQUIRE(figures.now->pools[0].evictable == sizes.evictable);
    REQUIRE(figures.now->pools[0].protected_ == sizes.protected_);
    std::uint64_t requests_seen = 0, tries = 0, prompt = 0, hit = 0;
    for (const metrics::TenantFigures& tenant : figures.tenants)
      requests_seen += tenant.requests, tries += tenant.tries, prompt += tenant.prompt_tokens, hit += tenant.hit_tokens;
    REQUIRE(requests_seen == engine->counters().requests);
    REQUIRE(tries == engine->counters().tries);
    REQUIRE(figures.counts->finished == engine->counters().finished);
    REQUIRE(figures.counts->aborted == engine->counters().aborted);
    REQUIRE(prompt == engine->counters().prompt_tokens);
    REQUIRE(hit == engine->counters().hit_tokens);
    REQUIRE(figures.tenants.size() <= 3);
    std::map<std::string, double> now = samples_of(figures);
    for (const auto& [name, value] : before)
      if (name.find("_total{") != std::string::npos || name.find("_bucket{") != std::string::npos)
        REQUIRE_MESSAGE((now.contains(name) && now[name] >= value), name);
    before = std::move(now);
  }
  requests.finish();
  const Figures figures = reading.look();
  REQUIRE(figures.counts);
  const inspector::LeavingCounts& full = figures.counts->leaving.at("full");
  CHECK(full.evicted_tokens() > 0);
  CHECK(full.idle_s.samples() == full.evicted_tokens() / 4);
  CHECK(full.lifetime_s.samples() == full.evicted_tokens() / 4);
  CHECK(figures.counts->reuse_gap_s.samples() > 0);
  std::uint64_t missed = 0;
  for (const auto& [reason, tokens] : figures.counts->missed_tokens) {
    missed += tokens;
    if (reason.starts_with("not_known")) CHECK(tokens == 0);
  }
  CHECK(missed + engine->counters().hit_tokens <= engine->counters().prompt_tokens);
}

TEST_CASE("metrics: ages and reuse distances count the prompts that came meanwhile") {
  const auto engine = engine_of(
      "page_size: 4\nindex: radix\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } "
      "}\n"
      "feed: { heap: { events: 65536 } }\n");
  Reading reading(*engine, 8);
  reading.look();
  serve(*engine, tokens(1, 40));
  serve(*engine, tokens(101, 20));
  serve(*engine, tokens(1, 40));  // 36 of 40 are found: one token is always computed
  Figures figures = reading.look();
  CHECK(figures.counts->reuse_distance.samples() == 9);
  CHECK(figures.counts->reuse_distance.sum() == doctest::Approx(9 * 20.0));
  CHECK(figures.hit_rate == doctest::Approx(36.0 / 100));
  serve(*engine, tokens(201, 20));  // 20 of 101 leave
  figures = reading.look();
  const inspector::LeavingCounts& full = figures.counts->leaving.at("full");
  CHECK(full.evicted_tokens() == 20);
  CHECK(full.idle_work.samples() == 5);
  CHECK(full.idle_work.sum() == doctest::Approx(5 * 60.0));
  engine->flush(NamespaceId{});
  figures = reading.look();
  CHECK(figures.counts->leaving.at("full").flushed_tokens() == 60);
  CHECK(figures.counts->leaving.at("full").evicted_tokens() == 20);
  CHECK(figures.now->nodes == 0);
  CHECK(figures.now->depth == 0);
}

namespace {

/// A feed of one group with pages of 4 tokens, whose operations a test writes itself.
struct Written {
  Written() {
    FeedShape shape;
    shape.page_size = 4;
    shape.groups = 1;
    tally.attach(shape);
  }
  template <class... Each>
  void operation(const Each&... each) {
    const std::vector<Event> events = {std::bit_cast<Event>(each)...,
                                       std::bit_cast<Event>(event::Commit{.operations = ++operations, .us = us})};
    tally.take(events);
  }
  Tally tally{"serve-1", 4};
  std::uint64_t operations = 0, us = 0;
};

}  // namespace

TEST_CASE("metrics: a node that took in its child ends once, and not where it ended before") {
  Written feed;
  const auto node = [](std::uint32_t slot) { return NodeId{std::uint64_t{1} << 32 | slot}; };
  feed.operation(event::Keyframe{});
  feed.operation(event::NodeAdded{.resident = 1, .node = node(1), .length = 40},
                 event::NodeAdded{.resident = 1, .node = node(2), .parent = 1, .length = 20});
  CHECK(feed.tally.figures().now->depth == 60);
  feed.operation(event::NodeJoined{.node = node(1), .child = node(2)});
  CHECK(feed.tally.figures().now->depth == 60);
  feed.operation(event::NodeRemoved{.node = node(1)});
  CHECK(feed.tally.figures().now->nodes == 0);
  CHECK(feed.tally.figures().now->depth == 0);
}

TEST_CASE(
    "metrics: blocks that were inserted apart have lives of their own, also when they were joined and cut since") {
  Written feed;
  const auto node = [](std::uint32_t slot) { return NodeId{std::uint64_t{1} << 32 | slot}; };
  feed.operation(event::Keyframe{});
  feed.us = 1'000'000;
  feed.operation(event::NodeAdded{.resident = 1, .node = node(1), .length = 8});
  feed.us = 101'000'000;
  feed.operation(event::NodeAdded{.resident = 1, .node = node(2), .parent = 1, .length = 12},
                 event::NodeJoined{.node = node(1), .child = node(2)});
  feed.operation(event::NodeSplit{.units = 12, .node = node(1), .upper = node(3)});
  feed.us = 102'000'000;
  feed.operation(event::NodeRemoved{.node = node(1)});
  const auto lives = [&] { return feed.tally.figures().counts->leaving.at("").lifetime_s; };
  CHECK(lives().samples() == 2);
  CHECK(lives().sum() == doctest::Approx(2 * 1.0));
  feed.operation(event::NodeRemoved{.node = node(3)});
  CHECK(lives().samples() == 5);
  CHECK(lives().sum() == doctest::Approx(3 * 1.0 + 2 * 101.0));
}

TEST_CASE("metrics: missed tokens of a request that ran at a loss, or when its engine ended, are counted") {
  Written feed;
  const auto missed = [&] {
    const Figures figures = feed.tally.figures();
    std::uint64_t sum = 0;
    for (const auto& [reason, tokens] : figures.counts->missed_tokens) sum += tokens;
    return sum;
  };
  feed.operation(event::Keyframe{});
  feed.operation(event::RequestBegun{.prompt = 101, .request = 1, .matched = 8});
  CHECK(missed() < 93);  // the reason is not known yet
  feed.tally.lost();
  feed.operation(event::Keyframe{});
  CHECK(missed() == 93);
  feed.operation(event::RequestBegun{.prompt = 101, .request = 2, .matched = 8});
  feed.tally.detach();
  CHECK(missed() == 2 * 93);
}

TEST_CASE("metrics: hits are the pools' or a tier's, and no source falls while the tiers' part is not known yet") {
  Written feed;
  const auto counter = [](Counter of, std::uint64_t value) {
    return event::CounterValue{.counter = of, .row = 0, .column = 0, .value = value};
  };
  const auto source = [&](const std::string& of) {
    const auto samples = samples_of(feed.tally.figures());
    return samples.contains(of) ? samples.at(of) : -1;
  };
  const std::string vllm = "vllm:prompt_tokens_cached_by_source_total{model_name=\"serve-1\",engine=\"0\",source=\"";
  const std::string by_source = "vllm:prompt_tokens_by_source_total{model_name=\"serve-1\",engine=\"0\",source=\"";
  const std::string sglang = "sglang:cached_tokens_total{model_name=\"serve-1\",cache_source=\"";
  feed.operation(event::Keyframe{}, counter(Counter::limit_pages_host, 100));
  feed.operation(event::RequestBegun{.prompt = 100, .request = 1, .matched = 80});
  for (const std::string& of : {vllm + "device\"}", sglang + "device\"}", by_source + "local_cache_hit\"}"})
    CHECK(source(of) == 0);  // the engine says later what a fetch had brought
  feed.operation();
  CHECK(source(vllm + "device\"}") == 0);
  feed.operation(counter(Counter::hit_tokens_host, 60), event::Totals{});
  CHECK(source(vllm + "device\"}") == 20);
  CHECK(source(vllm + "host\"}") == 60);
  CHECK(source(sglang + "device\"}") == 20);
  CHECK(source(sglang + "host\"}") == 60);
  CHECK(source(by_source + "local_compute\"}") == 20);
  CHECK(source(by_source + "local_cache_hit\"}") == 20);
  CHECK(source(by_source + "external_kv_transfer\"}") == 60);
  CHECK(source("vllm:prefix_cache_hits_total{model_name=\"serve-1\",engine=\"0\"}") == 20);
  CHECK(source("vllm:prompt_tokens_cached_total{model_name=\"serve-1\",engine=\"0\"}") == 80);
  CHECK(source(vllm + "external_unspecified\"}") == -1);                   // there is no storage
  feed.operation(counter(Counter::hit_tokens_host, 90), event::Totals{});  // before the request to which they belong
  CHECK(source(vllm + "device\"}") == 20);
  feed.operation(event::RequestBegun{.prompt = 40, .request = 2, .matched = 36});
  feed.operation(event::Totals{});
  CHECK(source(vllm + "device\"}") == 26);
}

TEST_CASE("metrics: what a late reader cannot know is absent, not 0") {
  const auto engine = engine_of(kTwoGroups);
  for (Token first = 1; first < 1000; first += 100) serve(*engine, tokens(first, 36));
  Reading reading(*engine, 8);
  std::map<std::string, double> samples = samples_of(reading.tally.figures());
  CHECK(samples.at("canopy_feed_up{feed=\"serve-1\"}") == 1);
  CHECK(samples.at("canopy_feed_in_step{feed=\"serve-1\"}") == 0);
  CHECK(samples.size() == 2);  // before the keyframe nothing else is known
  Figures figures = reading.look();
  REQUIRE(figures.now);
  CHECK(figures.now->nodes > 0);
  CHECK_FALSE(figures.hit_rate);
  CHECK_FALSE(samples_of(figures).contains("canopy_hit_rate{feed=\"serve-1\"}"));
  CHECK(labels_twice(samples_of(figures)).empty());
  CHECK(figures.tenants.at(0).resident_tokens == figures.now->pools[0].evictable);
  // Pages from before have no known age: they are counted as evicted and have no place in the histograms.
  const std::uint64_t evicted = engine->counters().evicted_tokens;
  for (Token first = 5001; first < 6000; first += 100) serve(*engine, tokens(first, 36));
  figures = reading.look();
  const inspector::LeavingCounts& full = figures.counts->leaving.at("full");
  CHECK(full.evicted_tokens() == engine->counters().evicted_tokens - evicted);
  CHECK(full.idle_s.samples() < full.evicted_tokens() / 4);
  CHECK(figures.counts->missed_tokens.at("never_seen") == 0);
  CHECK(figures.counts->missed_tokens.at("not_known_before_attach") > 0);
}

TEST_CASE("metrics: the hit rate is that of the last 128 requests") {
  const auto engine = engine_of(kTwoGroups);
  Reading reading(*engine, 2);
  reading.look();
  for (Token first = 1; first < 500; first += 100) serve(*engine, tokens(first, 41));  // nothing is found
  for (int i = 0; i < 100; ++i) serve(*engine, tokens(1, 21));                         // all but one are
  const auto before = engine->counters();
  for (std::size_t i = 0; i < inspector::RecentHits::kRequests; ++i) serve(*engine, tokens(1, 41));
  const auto after = engine->counters();
  const Figures figures = reading.look();
  REQUIRE(figures.hit_rate);
  CHECK(*figures.hit_rate == static_cast<double>(after.hit_tokens - before.hit_tokens) /
                                 static_cast<double>(after.prompt_tokens - before.prompt_tokens));
  CHECK(*figures.hit_rate > 0.9);
}

TEST_CASE("metrics: of a feed made from KV events, figures that events do not have are absent") {
  const auto engine = engine_of(kTwoGroups);
  Reading reading(*engine, 2);
  reading.look();
  serve(*engine, tokens(1, 40));
  Figures figures = reading.look();
  const auto own = samples_of(figures);
  figures.from_events = true;
  const auto all = samples_of(figures);
  const auto has = [](const auto& samples, const char* begin) {
    const auto at = samples.lower_bound(begin);
    return at != samples.end() && at->first.starts_with(begin);
  };
  CHECK(has(all, "canopy_tree_nodes"));
  CHECK(has(all, "canopy_page_lifetime_seconds"));
  CHECK(has(all, "vllm:kv_block_lifetime_seconds"));
  for (const char* unknown :
       {"canopy_requests", "canopy_hit", "canopy_missed", "canopy_pool_limit", "canopy_eviction_age", "canopy_reuse",
        "sglang:prompt", "sglang:kv_", "vllm:prefix_cache", "vllm:kv_cache_usage"}) {
    CHECK_MESSAGE(has(own, unknown), unknown);
    CHECK_MESSAGE(!has(all, unknown), unknown);
  }
}

TEST_CASE("metrics: namespaces beyond the bound share a row, and labels are escaped") {
  const auto engine = engine_of(kTwoGroups);
  Reading reading(*engine, 2);
  reading.look();
  std::uint64_t number = 0;
  for (const char* name : {"plain", "a\"quote\\", "(other)", "fourth"})
    serve(*engine, tokens(static_cast<Token>(1000 * ++number), 20), engine->intern({name, {}, {}}));
  const Figures figures = reading.look();
  REQUIRE(figures.tenants.size() == 3);
  CHECK(figures.tenants[2].label == metrics::kOthers);
  CHECK(figures.tenants[2].requests == 2);
  CHECK(figures.tenants[2].resident_tokens == 40);
  const auto samples = samples_of(figures, {{"model_name", "m\"1\"\n"}});
  CHECK(samples.at("canopy_tree_tokens{feed=\"serve-1\",model_name=\"m\\\"1\\\"\\n\",namespace=\"a\\\"quote\\\\\"}") ==
        20);
  CHECK(samples.contains("vllm:num_requests_running{model_name=\"m\\\"1\\\"\\n\",engine=\"0\"}"));
  CHECK(metrics::flaw_of_label("namespace") != "");
  CHECK(metrics::flaw_of_label("__x") != "");
  CHECK(metrics::flaw_of_label("9a") != "");
  CHECK(metrics::flaw_of_label("model_name") == "");
}

TEST_CASE("metrics: a feed that ends and comes back goes on counting, and its tree is not known meanwhile") {
  const auto first = engine_of(kTwoGroups);
  Reading reading(*first, 4);
  reading.look();
  serve(*first, tokens(1, 36), first->intern({"b", {}, {}}));
  Figures figures = reading.look();
  CHECK(figures.tenants.back().prompt_tokens == 36);
  reading.tally.detach();
  figures = reading.tally.figures();
  CHECK_FALSE(figures.now);
  CHECK_FALSE(figures.tenants.back().resident_tokens);
  CHECK_FALSE(figures.hit_rate);
  CHECK(samples_of(figures).at("canopy_feed_up{feed=\"serve-1\"}") == 0);
  const auto second = engine_of(kTwoGroups);
  second->intern({"a", {}, {}});  // so that b has another number
  reading.tally.attach(second->feed()->writer().header());
  FeedReader reader(second->feed()->writer().header());
  serve(*second, tokens(1, 20), second->intern({"b", {}, {}}));
  second->poll();
  std::vector<Event> events(4096);
  std::size_t count = 0;
  REQUIRE(reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events);
  reading.tally.take({events.data(), count});
  figures = reading.tally.figures();
  REQUIRE(figures.now);
  CHECK(figures.counts->attached == 2);
  const auto row = std::find_if(figures.tenants.begin(), figures.tenants.end(),
                                [](const metrics::TenantFigures& one) { return one.label == "b"; });
  REQUIRE(row != figures.tenants.end());
  CHECK(row->prompt_tokens >= 36);
  CHECK(row->resident_tokens == 20);
  // The last requests are those of this engine, not of the one before.
  for (int i = 0; i < 2; ++i) serve(*second, tokens(1, 20), second->intern({"b", {}, {}}));
  while (reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events)
    reading.tally.take({events.data(), count});
  CHECK(reading.tally.figures().hit_rate == doctest::Approx(32.0 / 60));
}

TEST_CASE("metrics: the row of a name is that of the name, whatever numbers namespaces have after a restart") {
  const auto first = engine_of(kTwoGroups);
  Reading reading(*first, 4);
  reading.look();
  serve(*first, tokens(1, 36), first->intern({"a", {}, {}}));
  serve(*first, tokens(1, 20), first->intern({"b", {}, {}}));
  reading.look();
  reading.tally.detach();
  std::map<std::string, std::uint64_t> had = {{"a", 36}, {"b", 20}};
  // Their numbers are exchanged, and then one of them is not there.
  for (const std::vector<const char*>& names : {std::vector{"b", "a"}, std::vector{"b"}}) {
    CAPTURE(names.size());
    const auto engine = engine_of(kTwoGroups);
    reading.tally.attach(engine->feed()->writer().header());
    FeedReader reader(engine->feed()->writer().header());
    const auto read = [&] {
      engine->poll();
      std::vector<Event> events(4096);
      for (std::size_t count = 0; reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events;)
        reading.tally.take({events.data(), count});
    };
    const auto check = [&] {
      read();
      std::map<std::string, std::uint64_t> prompts;
      for (const metrics::TenantFigures& one : reading.tally.figures().tenants) {
        CHECK(!prompts.contains(one.label));
        prompts[one.label] = one.prompt_tokens;
      }
      for (const char* const name : {"a", "b"}) {
        REQUIRE(prompts.contains(name));
        CHECK(prompts[name] == had[name]);
      }
    };
    read();  // requests from now on count
    for (const char* const name : names) {
      serve(*engine, tokens(1, 8), engine->intern({name, {}, {}}));
      had[name] += 8;
    }
    check();
    reading.tally.lost();
    const FeedReader another(engine->feed()->writer().header());  // the engine sends a keyframe, with all names
    check();
    reading.tally.detach();
  }
}

TEST_CASE("metrics: after a loss the tree is not known until the next keyframe, and the loss is counted") {
  const auto engine = engine_of(kTwoGroups);
  Reading reading(*engine, 8);
  reading.look();
  serve(*engine, tokens(1, 36));
  CHECK(reading.look().now);
  reading.tally.lost();
  Figures figures = reading.tally.figures();
  CHECK_FALSE(figures.now);
  CHECK_FALSE(figures.tenants.at(0).resident_tokens);
  CHECK(figures.counts->laps == 1);
  serve(*engine, tokens(201, 36));
  CHECK_FALSE(reading.look().now);  // without a keyframe
  FeedReader another(engine->feed()->writer().header());
  figures = reading.look();
  REQUIRE(figures.now);
  CHECK(figures.now->pools[0].evictable == engine->index().sizes(0).evictable);
  CHECK(figures.tenants.at(0).resident_tokens == figures.now->pools[0].evictable);
}
