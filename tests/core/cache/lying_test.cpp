/// Plugins that lie or throw: each is named with its file and the call, nothing crashes, and the run goes on.
#include <canopy/feed/reader.h>
#include <demo/demo.h>
#include <replay/replay.h>

#include <support/engines.h>

#include <tuple>

using namespace canopy;
using namespace canopy::test;

namespace {

const Registry& with_liars() {
  static const Registry all = [] {
    Registry registry;
    registry.scan(own_plugin_folder(), Trust::as_ourselves);
    for (const char* kind : {"allocators", "policies", "stores", "indexes"})
      registry.add(std::string(BAD_PLUGINS "/lying_") + kind + ".so", Trust::as_ourselves);
    REQUIRE(registry.refusals().empty());
    return registry;
  }();
  return all;
}

Result<std::unique_ptr<Engine>> engine_with(const std::vector<std::string>& more) {
  auto document = parse_yaml(
      "page_size: 16\nsegment_pages: 512\n"
      "groups: { full: { reach: path, capacity: 40000, allocator: free_list, eviction: lru } }\n",
      "test");
  REQUIRE(document);
  for (const std::string& assignment : more) REQUIRE(set_value(*document, assignment));
  const auto config = read_engine_config(*document, with_liars());
  if (!config) return config.error();
  return Engine::create(*config, with_liars());
}

replay::Report run(Engine& engine, replay::Mode mode) {
  const auto source = demo::requests(5);
  replay::Options options = demo::options();
  options.mode = mode;
  options.limit = 150;
  options.running = 4;
  options.failed_report = true;
  auto report = replay::run(engine, *source, options, {});
  REQUIRE(report);
  return *report;
}

std::string all_of(const std::vector<std::string>& sentences) {
  std::string all;
  for (const std::string& sentence : sentences) all += sentence + "\n";
  return all;
}

/// Runs with a setting and expects a violation whose message contains `sentence`.
void expect_violation(const std::string& setting, const std::string& sentence) {
  CAPTURE(setting);
  for (const replay::Mode mode : {replay::Mode::serial, replay::Mode::timed}) {
    const auto engine = engine_with({setting});
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
    const auto report = run(**engine, mode);
    CHECK(report.violations > 0);
    CHECK_MESSAGE(all_of(report.reports).find(sentence) != std::string::npos, "no '" << sentence << "' in:\n"
                                                                                     << all_of(report.reports));
  }
}

}  // namespace

TEST_CASE("lying allocators are named with their file and the call and nothing is written out of bounds") {
  const auto allocator = [](const std::string& name, const std::string& sentence) {
    expect_violation("groups.full.allocator=" + name,
                     "slot allocator '" + name + "' (lying_allocators.so), " + sentence);
  };
  allocator("gives_page_0", "allocate: it handed out page 0 of group 'full', which is never handed out");
  allocator("gives_page_far", "allocate: it handed out page 2147483647 of group 'full', and the last one is ");
  allocator("gives_page_last", "allocate: it handed out page 4294967295 of group 'full', and the last one is ");
  allocator("twice_in_a_call", "allocate: it handed out page ");
  expect_violation("groups.full.allocator=twice_in_a_call", "of group 'full', which is out already; request ");
  allocator("twice_overall", "allocate: it handed out page 1 of group 'full', which is out already; request 1 had it");
  allocator("fills_nothing", "allocate: it handed out page 0 of group 'full', which is never handed out; or it filled");
  allocator("refuses_free", "free: it refuses ");
  allocator("counts_most", "occupancy: it says 18446744073709551615 of 18446744073709551615 pages are free, but 2500");
  allocator("counts_nothing", "occupancy: it says 0 of 0 pages are free, but 2500 were offered");
  allocator("counts_more_free", "occupancy: it says 200 of 100 pages are free, but 2500 were offered");
  allocator("throws_in_allocate", "allocate: it threw: its table of pages is full");
  allocator("throws_in_free", "free: it threw: something that is not a std::exception");
  // The sum over all owners finds these; the allocator is not the only one that can be the reason.
  expect_violation("groups.full.allocator=swallows_free", "group 'full' after ");
  expect_violation("groups.full.allocator=counts_one_more", "group 'full' after ");
}

TEST_CASE("lying indexes are named with their file and the call") {
  const auto index = [](const std::string& name, const std::string& sentence) {
    expect_violation("index=" + name, "prefix index '" + name + "' (lying_indexes.so), " + sentence);
  };
  const auto none = engine_with({"index=nothing"});
  REQUIRE(none);
  CHECK(run(**none, replay::Mode::timed).violations == 0);
  index("finds_more_than_the_key", "match: it gave a lock of ");
  index("finds_half_a_page", "match: it gave a lock of 1 units");
  index("locks_from_behind", "match: it gave a lock of 16 units from 32,");
  index("locks_within_a_page", "match: it gave a lock of 16 units from 1,");
  index("has_too_many_pages", "pages: it gave 1000000 pages of group 'full' for ");
  index("has_no_pages", "pages: it gave 0 pages of group 'full' for 1 pages under a lock");
  for (const char* const name : {"has_too_many_pages", "has_no_pages", "has_page_far"}) {  // rows that are not theirs
    const auto engine = engine_with({std::string("index=") + name});
    REQUIRE(engine);
    const Request request = (*engine)->begin(arrival(std::vector<Token>(64, 7)));
    CHECK(request.matched() == 0);
    CHECK(request.row(0).empty());
  }
  index("has_page_far", "pages: it gave page 2147483647 of group 'full', which has no page beyond ");
  index("has_page_last", "pages: it gave page 4294967295 of group 'full', which has no page beyond ");
  index("inserts_more_than_the_key", "insert: it gave a lock of ");
  index("spares_more", "insert: it gave a lock of ");
  index("is_huge", "sizes: it says 9223372036854775808 units are evictable and 9223372036854775808 protected");
  index("throws_in_match", "match: it threw: its tree fell over");
  index("throws_in_insert", "insert: it threw: something that is not a std::exception");
  index("throws_in_release", "release: it threw: it keeps the lock");
  {
    const auto engine = engine_with({"index=throws_in_reads"});
    REQUIRE(engine);
    struct Nothing final : NodeVisitor, QueueVisitor {
      void node(const NodeView&) override {}
      void waiting(const NodeFacts&, Rank) override {}
    } nothing;
    const IndexView view = (*engine)->index();
    CHECK(view.sizes(0, NamespaceId::shared).evictable == 0);
    CHECK(view.use().nodes == 0);
    CHECK_FALSE(view.visit(nothing));
    CHECK_FALSE(view.waiting(0, nothing));
    CHECK((*engine)->ledger().violations() == 4);
  }
  {
    const auto engine = engine_with({"index=throws_in_use_policy"});
    REQUIRE(engine);
    auto policy = *plugins().make<EvictionStrategy>("mru", {});
    const std::weak_ptr<EvictionStrategy> kept = policy;
    REQUIRE((*engine)->use_policy(0, std::move(policy), "mru"));
    REQUIRE((*engine)->use_policy(0, *plugins().make<EvictionStrategy>("lfu", {}), "lfu"));
    CHECK_FALSE(kept.expired());
    (*engine)->make_free(0, 3000);
    const std::string all = all_of((*engine)->ledger().reports());
    CHECK_MESSAGE(all.find("use_policy: it threw: it cannot rank") != std::string::npos, all);
  }
  // Their evict() returns pages that were never theirs.
  for (const auto& [name, sentence] :
       {std::pair("evicts_page_last", "evict gave back 1 pages of which one was not out"),
        std::pair("evicts_page_0", "evict gave back 1 pages of which one was not out"),
        std::pair("evicts_many", "evict: it gave back 10000000 pages of group 0"),
        std::pair("evicts_of_other_groups", "evict: it gave back 1 pages of group 3")}) {
    const auto engine = engine_with({std::string("index=") + name});
    REQUIRE(engine);
    CHECK_FALSE((*engine)->make_free(0, 3000));
    const std::string all = all_of((*engine)->ledger().reports());
    CHECK_MESSAGE(all.find(sentence) != std::string::npos, all);
  }
  {
    const auto engine = engine_with({"index=visits_a_page"});
    REQUIRE(engine);
    (*engine)->audit();
    const std::string all = all_of((*engine)->ledger().reports());
    CHECK_MESSAGE(all.find("visit: it gave page 4294967295 of group 'full', which does not exist") != std::string::npos,
                  all);
  }
  // Spans without an address, wherever an index gives one.
  {
    const auto engine = engine_with({"index=has_no_addresses", "tiers.host.capacity=4000"});
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
    run(**engine, replay::Mode::serial);
    CHECK_FALSE((*engine)->make_free(0, 3000));
    (*engine)->audit();
    const std::string all = all_of((*engine)->ledger().reports());
    CHECK_MESSAGE(all.find("pages: it gave ") != std::string::npos, all);
  }
  {
    const auto engine = engine_with({"index=leaves_far_pages", "tiers.host.capacity=4000"});
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
    CHECK_FALSE((*engine)->make_free(0, 3000));
    const std::string all = all_of((*engine)->ledger().reports());
    CHECK_MESSAGE(all.find("evict: it reported a leaving node with 16 words and 1 pages") != std::string::npos, all);
  }
  // An order that is none is not used: the requests keep theirs.
  for (const auto& [name, sentence] :
       {std::pair("orders_one_twice", "order_by_weight: it named request 0 twice in an order of 3"),
        std::pair("orders_another", "order_by_weight: it named request 9 that was not given in an order of 3"),
        std::pair("throws_in_order", "order_by_weight: it threw: it lost its place")}) {
    const auto engine = engine_with({std::string("index=") + name});
    REQUIRE(engine);
    const std::vector<NodeId> ends(3);
    std::vector<std::uint32_t> order(3, 7);
    (*engine)->order_by_weight(ends, order);
    CHECK(order == std::vector<std::uint32_t>{0, 1, 2});
    const std::string all = all_of((*engine)->ledger().reports());
    CHECK_MESSAGE(all.find(sentence) != std::string::npos, all);
  }
  const auto engine = engine_with({"index=promises"});
  REQUIRE(engine);
  CHECK((*engine)->admits(arrival(tokens(1, 100))).verdict == Admission::Verdict::now);
  CHECK_MESSAGE(
      all_of((*engine)->ledger().reports()).find("peek: it found 4294967295 units of a key of 99") != std::string::npos,
      all_of((*engine)->ledger().reports()));
}

TEST_CASE("codecs whose words are not the tokens' reuse nothing and are named") {
  for (const auto& [name, sentence] : {std::pair("gives_no_words", "encode: it gave 0 words for "),
                                       std::pair("gives_many_words", "encode: it gave 100000 words for "),
                                       std::pair("gives_no_address", "encode: it gave words without an address"),
                                       std::pair("throws_in_encode", "encode: it threw: something that is no")}) {
    const auto engine = engine_with({std::string("key=") + name});
    REQUIRE(engine);
    const auto report = run(**engine, replay::Mode::timed);
    CHECK(report.hit_tokens == 0);
    CHECK(report.violations > 0);
    CHECK_MESSAGE(all_of(report.reports)
                          .find(std::string("key codec '") + name + "' (lying_indexes.so), " +
                                std::string(sentence).substr(0, 30)) != std::string::npos,
                  all_of(report.reports));
  }
  const auto engine = engine_with({"key=overlaps_all"});
  REQUIRE_FALSE(engine);
  CHECK(engine.error().text.find("key codec 'overlaps_all' (lying_indexes.so) cannot be used: its keys overlap by "
                                 "4294967295 words, expected at most 64") != std::string::npos);
}

TEST_CASE("a store of an impossible shape is refused when the engine is made") {
  for (const auto& [name, why] :
       {std::pair("no_streams", "it has 0 streams, expected 1 to 4"),
        std::pair("five_streams", "it has 5 streams, expected 1 to 4"),
        std::pair("has_no_addresses", "it has 1 streams without an address, expected 1 to 4"),
        std::pair("other_streams", "its view has 3 streams, and it has 1"),
        std::pair("no_pages", "its segments have 0 pages"), std::pair("no_segments", "it has addresses for 0 segments"),
        std::pair("no_layers", "it has 1 layers, and its view 0; expected the same number, at least 1"),
        std::pair("other_page", "its pages have 7 tokens, and the engine's 16"),
        std::pair("no_bytes", "rows of its stream 0 have 0 bytes, and 8 in its view"),
        std::pair("other_bytes", "rows of its stream 0 have 8 bytes, and 4096 in its view"),
        std::pair("over_one_another", "rows of its stream 0 lie over one another")}) {
    CAPTURE(name);
    const auto engine = engine_with({std::string("store=") + name});
    REQUIRE_FALSE(engine);
    const std::string expected = std::string("KV store '") + name + "' (lying_stores.so) cannot be used: " + why;
    CHECK_MESSAGE(engine.error().text.find(expected) != std::string::npos, engine.error().text);
  }
  const auto throws = engine_with({"store=throws_in_view"});
  REQUIRE_FALSE(throws);
  CHECK(throws.error().text.find("KV store 'throws_in_view' (lying_stores.so) threw when it was asked for its view") !=
        std::string::npos);
}

TEST_CASE("stores that lose rows or throw are named") {
  const auto plain = engine_with({"store=plain_store"});
  REQUIRE_MESSAGE(plain, (plain ? "" : plain.error().text));
  CHECK(run(**plain, replay::Mode::timed).violations == 0);
  expect_violation("store=throws_in_write",
                   "KV store 'throws_in_write' (lying_stores.so), write: it threw: its disk is full");
  expect_violation("store=writes_another", " of group 'full'");
  expect_violation("store=fails_to_sync", "KV store 'fails_to_sync' (lying_stores.so), sync: its queue is broken");
  const auto back = engine_with({"store=throws_in_back"});
  REQUIRE_FALSE(back);  // no memory, no pool
}

TEST_CASE("pages whose rows a store could not copy stay where they are when a pool shrinks") {
  for (const auto& [name, sentence] : {std::pair("throws_in_copy", "copy: it threw: its engine is lost"),
                                       std::pair("never_copies", "sync: its queue is broken")}) {
    CAPTURE(name);
    const auto made = engine_with({std::string("store=") + name, "segment_pages=4", "groups.full.capacity=1008"});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().text));
    Engine& engine = **made;
    // Two prompts whose pages alternate; one leaves, so that all segments have pages of the other.
    const auto gone = tokens(1, 321), stays = tokens(5'000, 321);
    Request first = engine.begin(arrival(gone)), second = engine.begin(arrival(stays));
    for (std::uint32_t end = 16; end <= 320; end += 16) REQUIRE((first.reserve(end) && second.reserve(end)));
    std::vector<std::uint64_t> rows(320), found(320);
    std::iota(rows.begin(), rows.end(), 77);
    second.write(0, 0, 320, {{reinterpret_cast<std::byte*>(rows.data())}, Rows::At::host});
    first.finish(320), second.finish(320);
    engine.make_free(0, 63 - 20);
    engine.resize(0, 21);
    for (int i = 0; i < 40; ++i) engine.poll();
    CHECK(engine.pool(0).draining());
    CHECK(engine.counters().relocated_pages == 0);
    CHECK_MESSAGE(all_of(engine.ledger().reports()).find(sentence) != std::string::npos,
                  all_of(engine.ledger().reports()));
    const std::uint64_t violations = engine.ledger().violations();
    engine.audit();
    CHECK(engine.ledger().violations() == violations);
    Request again = engine.begin(arrival(stays));
    REQUIRE(again.matched() == 320);
    again.read(0, 0, 320, {{reinterpret_cast<std::byte*>(found.data())}, Rows::At::host});
    CHECK(found == rows);
  }
}

TEST_CASE("what an allocator did not take or give back is not counted, and a later call does it") {
  for (const std::string name : {"throws_in_offer", "throws_in_withdraw"}) {
    CAPTURE(name);
    const auto made = engine_with(
        {"groups.full.allocator=" + name, "segment_pages=4", "groups.full.capacity=496", "groups.full.start=0"});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().text));
    Engine& engine = **made;
    for (Token i = 0; i < 4; ++i) {
      const auto prompt = tokens(1'000 * i, 97);
      Request request = engine.begin(arrival(prompt));
      bool room = false;
      for (int tries = 0; tries < 10 && !room; ++tries) room = request.reserve(97);
      REQUIRE(room);
      request.finish(97);
    }
    CHECK(engine.pool(0).offered() > 7);
    engine.make_free(0, engine.pool(0).offered());
    engine.resize(0, 5);
    for (int i = 0; i < 8; ++i) engine.poll();
    CHECK(engine.pool(0).offered() == 5);
    CHECK_FALSE(engine.pool(0).draining());
    engine.audit();
    CHECK(engine.ledger().violations() == 1);
    CHECK(engine.ledger().reports()[0] == "slot allocator '" + name + "' (lying_allocators.so), " + name.substr(10) +
                                              ": it threw: its table of segments is full");
  }
}

TEST_CASE("what a store could not copy is in no tier") {
  for (const auto& [name, sentence, saves] :
       {std::tuple("throws_in_save", "begin_save: it threw: its bus is gone", false),
        std::tuple("never_saves", "sync: its queue is broken", false),
        std::tuple("has_no_room_to_load", "sync: it has no memory for a buffer", true),
        std::tuple("throws_in_load", "begin_load: it threw: something that is not a std::exception", true),
        std::tuple("never_loads", "sync: its queue is broken", true)}) {
    CAPTURE(name);
    const auto made = engine_with({std::string("store=") + name, "tiers.host.capacity=80000"});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().text));
    Engine& engine = **made;
    const auto prompt = tokens(1, 161);
    leave(engine, prompt);
    engine.make_free(0, 2'500);
    engine.turn(1'000'000);
    const CacheState& below = *state_of(engine).below;
    CHECK(below.index->sizes(0).evictable == (saves ? 160 : 0));
    {
      Fetch fetch = engine.tiers().fetch(arrival(prompt));
      engine.turn(2'000'000);
      CHECK(fetch.done());
      CHECK(engine.begin(arrival(prompt), std::move(fetch)).matched() == 0);
    }
    CHECK(state_of(engine).moving[0] == 0);
    CHECK(below.moving[0] == 0);
    CHECK(engine.live_requests() == 0);
    const std::uint64_t violations = engine.ledger().violations();
    CHECK(violations > 0);
    engine.audit();
    CHECK(engine.ledger().violations() == violations);
    CHECK_MESSAGE(engine.ledger().reports()[0].find(std::string("KV store '") + name + "' (lying_stores.so), " +
                                                    sentence) != std::string::npos,
                  engine.ledger().reports()[0]);
  }
}

TEST_CASE("an engine that ends leaves a store the images of its copies until they are done") {
  const auto made = engine_with({"store=saves_late", "tiers.host.capacity=80000"});
  REQUIRE_MESSAGE(made, (made ? "" : made.error().text));
  leave(**made, tokens(1, 161));
  (*made)->make_free(0, 2'500);
  CHECK((*made)->tiers().next_end_us() != kUnlimited);  // a copy is pending at the end
}

TEST_CASE("a policy that throws is replaced by lru and named and the run goes on") {
  const auto lru = engine_with({"groups.full.eviction=lru"});
  REQUIRE(lru);
  const auto plain = run(**lru, replay::Mode::timed);
  CHECK(plain.evicted_tokens > 0);
  for (const auto& [name, call] :
       {std::pair("throws_in_rank", "rank"), std::pair("throws_in_first_rank", "rank"),
        std::pair("throws_in_volatility", "volatility"), std::pair("throws_in_spare", "spare"),
        std::pair("throws_in_evicted", "evicted"), std::pair("throws_in_reads_prints", "reads_prints"),
        std::pair("throws_in_arrived", "arrived"), std::pair("throws_in_ended", "ended")}) {
    CAPTURE(name);
    const auto engine = engine_with({std::string("groups.full.eviction=") + name});
    REQUIRE(engine);
    const auto report = run(**engine, replay::Mode::timed);
    const std::string component = std::string("eviction strategy '") + name + "' (lying_policies.so)";
    CHECK(report.violations == 1);
    REQUIRE(report.reports.size() == 1);
    CHECK(report.reports[0].starts_with(component + ", " + call + ": it threw: "));
    REQUIRE(report.doubts.size() == 1);
    CHECK(report.doubts[0].sentence.starts_with("group 'full': " + component +
                                                " threw, and lru evicts in its place since operation "));
    CHECK((*engine)->policy(0) == "lru");
    // One that fails before it has ranked anything was lru all along.
    if (std::string(name) == "throws_in_first_rank") CHECK(report.digest == plain.digest);
  }
}

TEST_CASE("a policy that throws while the feed asks it for words is replaced too") {
  const auto engine = engine_with({"groups.full.eviction=throws_in_describe", "feed={ heap: {} }"});
  REQUIRE(engine);
  FeedReader reader((*engine)->feed()->writer().header());
  const auto report = run(**engine, replay::Mode::timed);
  CHECK(report.violations == 1);
  CHECK(report.doubts.size() == 1);
}
