/// An engine's configuration without its file: filled in C++, dumped, described.
#include <canopy/engine/engine.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <support/engines.h>

#include <numeric>

#include "engine_texts.h"

using namespace canopy;
using namespace canopy::test;

namespace {

/// A policy that is linked into the test.
class NewestFirst final : public EvictionStrategy {
 public:
  struct Config {
    bool newest = false;
    void visit(Options& o) { o.flag("newest", newest, "evict the newest first"); }
  };
  explicit NewestFirst(const Config& config) : newest_(config.newest) {}
  Rank rank(const NodeFacts& node) override { return {0, newest_ ? ~node.last_access : node.last_access}; }

 private:
  bool newest_;
};

constexpr CanopyComponent kOwn[] = {provide<EvictionStrategy, NewestFirst>("newest_first", "the newest leaves first")};

}  // namespace

TEST_CASE("engine config: a dump reads back to the same") {
  const std::string rare =
      "page_size: 65536\nindex: null\nstore: { host: { streams: { \"a\\n'\": 3 } } }\n"
      "groups: { w: { reach: 1, every: 131072, capacity: 65536, allocator: free_list, eviction: lfu,\n"
      "               store: { host: { streams: { state: 64 } } } } }\n"
      "insert_at_finish: false\n";
  const std::string with_feed =
      "page_size: 1\n" + kGroup + "feed: { shm: { name: a.b-c, controls: true, events: 4096 } }\n";
  for (const std::string& yaml : {kFull, "page_size: 1\n" + kGroup, rare, with_feed}) {
    CAPTURE(yaml);
    const EngineConfig first = good(yaml);
    const std::string dump = dump_engine_config(first, plugins());
    CAPTURE(dump);
    const EngineConfig again = good(dump);
    CHECK(dump_engine_config(again, plugins()) == dump);
    CHECK(again.page_size == first.page_size);
    CHECK(again.key.name == first.key.name);
    CHECK(again.index.name == first.index.name);
    CHECK(again.store.name == first.store.name);
    CHECK(again.segment_pages == first.segment_pages);
    CHECK(again.insert_at_finish == first.insert_at_finish);
    REQUIRE(again.groups.size() == first.groups.size());
    for (std::size_t i = 0; i < first.groups.size(); ++i) {
      CHECK(again.groups[i].name == first.groups[i].name);
      CHECK(again.groups[i].reach == first.groups[i].reach);
      CHECK(again.groups[i].every == first.groups[i].every);
      CHECK(again.groups[i].store.name == first.groups[i].store.name);
      CHECK(again.groups[i].capacity == first.groups[i].capacity);
      CHECK(again.groups[i].allocator.name == first.groups[i].allocator.name);
      CHECK(again.groups[i].eviction.name == first.groups[i].eviction.name);
    }
  }
  CHECK(dump_engine_config(good(kFull), plugins()) == R"(page_size: 16
key: bigram
index: { radix: { accounting: sglang, keep_free: 15, prefault: true } }
groups:
  full: { reach: path, capacity: 3000000, allocator: free_list, eviction: lru }
  window: { reach: 4096, capacity: unlimited, allocator: free_list, eviction: { slru: { protect_after: 3 } } }
store: { host: { layers: 2, streams: { k: { row_bytes: 8, heads: 0, head_dim: 0, dtype: bf16 }, "v's": { row_bytes: 0, heads: 2, head_dim: 16, dtype: fp8 } }, populate: false, huge_pages: false, lock: false, share: false, addresses: 16384GiB } }
feed: { off: {} }
segment_pages: 65536
idle_segments: 0
insert_at_finish: true
)");
}

TEST_CASE("engine config: an engine is composed from C++, with a policy of the program's own") {
  const Registry registry = registry_with(kOwn);
  EngineConfig config;
  config.page_size = 4;
  config.groups = {
      {.name = "full", .capacity = 16, .allocator = {"free_list"}, .eviction = {"newest_first", "{ newest: true }"}}};
  auto engine = Engine::create(config, registry);
  REQUIRE_MESSAGE(engine, (engine ? std::string() : engine.error().text));
  // Three prompts of two pages, and room for four pages: the newest of the first two leaves for the third.
  const auto serve = [&](Token first) {
    std::vector<Token> prompt(8);
    std::iota(prompt.begin(), prompt.end(), first);
    RequestSpec arrival;
    arrival.prompt = prompt;
    arrival.min_uncached = 0;
    Request request = (*engine)->begin(arrival);
    const std::uint32_t matched = request.matched();
    REQUIRE(request.reserve(8));
    request.finish(8);
    return matched;
  };
  for (const Token first : {100U, 200U, 300U}) CHECK(serve(first) == 0);
  CHECK(serve(100) == 8);
  CHECK((*engine)->ledger().violations() == 0);
}

TEST_CASE("engine config: what C++ fills in wrongly is refused like a file") {
  const auto why = [](auto change) {
    EngineConfig config;
    config.page_size = 4;
    config.groups = {{.name = "full", .capacity = 64, .allocator = {"free_list"}, .eviction = {"lru"}}};
    change(config);
    const auto engine = Engine::create(config, plugins());
    return engine ? std::string("fine") : engine.error().text;
  };
  using C = EngineConfig&;
  CHECK(why([](C) {}) == "fine");
  CHECK(why([](C c) { c.page_size = 0; }) == "page_size = 0 is outside 1..65536 (tokens in a page)");
  CHECK(why([](C c) { c.file = "my.cpp", c.page_size = 65537; }) ==
        "my.cpp: page_size = 65537 is outside 1..65536 (tokens in a page)");
  CHECK(why([](C c) { c.groups.clear(); }) == "groups are 0; an engine has 1 to 4");
  CHECK(why([](C c) { c.groups.resize(5, c.groups[0]); }) == "groups are 5; an engine has 1 to 4");
  CHECK(why([](C c) { c.groups.resize(2, c.groups[0]); }) == "groups: 'full' is there twice");
  CHECK(why([](C c) { c.groups[0].name = "one state"; }).starts_with("groups: 'one state' cannot name a group"));
  CHECK(why([](C c) { c.groups[0].reach = 0; }).starts_with("groups.full.reach = 0 is outside 1..4294967294 ("));
  CHECK(why([](C c) { c.groups[0].capacity = 3; }) == "groups.full.capacity = 3 does not hold one page of 4 tokens");
  CHECK(why([](C c) { c.groups[0].start = 65; }) == "groups.full.start = 65 is more than its capacity, 64");
  CHECK(why([](C c) { c.groups[0].every = 8; }).starts_with("groups.full.every: a group that needs the whole path"));
  CHECK(why([](C c) { c.feed.kind = FeedConfig::Kind::shm; }).starts_with("feed.shm.name is missing; expected"));
  CHECK(why([](C c) {
          c.feed.kind = FeedConfig::Kind::heap, c.feed.events = 3;
        }).starts_with("feed.heap.events = 3 is outside 1024..268435456 ("));
  CHECK(why([](C c) {
          c.groups[0].eviction = {"lur"};
        }).starts_with("no eviction strategy is called 'lur'. Did you mean 'lru'?"));
  CHECK(why([](C c) { c.groups[0].eviction = {"slru", "{ protect_after: 0 }", "my policy"}; }) ==
        "my policy: slru:1:18: slru.protect_after = 0 is outside 1..64 (hits that protect a prefix)");
}

TEST_CASE("engine config: every key is described") {
  std::string names;
  for (const OptionHelp& option : describe_engine_config(plugins())) {
    CAPTURE(option.name);
    CHECK(!option.help.empty());
    CHECK(!option.range.empty());
    names += option.name + (option.value.empty() ? "! " : " ");
  }
  CHECK(names ==
        "page_size! key index groups! groups.<name>.reach groups.<name>.every groups.<name>.capacity! "
        "groups.<name>.start groups.<name>.max_per_path groups.<name>.allocator! groups.<name>.eviction! "
        "groups.<name>.store tenants tenants.<name>.floor tenants.<name>.weight tenants.<name>.ceiling "
        "tenants.<name>.puts tenants.<name>.pins tenants.<name>.eviction tenants.<name>.together store model "
        "model.name! model.revision! model.dtype! model.extra model.rank model.ranks "
        "model.replicated tiers tiers.host.capacity! tiers.host.eviction tiers.host.write tiers.host.bandwidth "
        "tiers.host.latency tiers.storage.in! tiers.storage.write tiers.storage.least tiers.storage.bandwidth "
        "tiers.storage.within tiers.recompute.per_token tiers.recompute.per_token_depth tiers.prefetch.policy "
        "tiers.prefetch.max feed "
        "feed.heap.tokens feed.heap.controls feed.heap.events feed.shm.name! feed.shm.tokens feed.shm.controls "
        "feed.shm.events feed.file.path! feed.file.tokens events events.zmq.publish events.zmq.replay events.zmq.topic "
        "events.zmq.dialect events.zmq.hashes events.zmq.seed segment_pages idle_segments insert_at_finish ");
  const auto all = describe_engine_config(plugins());
  CHECK(all[1].range == "bigram or token");
  CHECK(all[1].value == "token");
  CHECK(all[4].range == "path or 1..4294967294");
  CHECK(all[7].value == "the capacity, or 0 if it is unlimited");
}
