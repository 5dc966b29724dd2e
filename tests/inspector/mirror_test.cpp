#include <canopy/feed/reader.h>
#include <canopy/support/random.h>
#include <conformance/model/effort.h>
#include <conformance/model/mismatch.h>
#include <doctest/doctest.h>
#include <mirror/mirror.h>
#include <support/engines.h>
#include <support/random_requests.h>

#include <map>
#include <set>

using namespace canopy;
using namespace canopy::test;
using inspector::Mirror;
using inspector::MirrorNode;

namespace {

/// Reads what a feed of this process has, as an inspector does.
struct Watcher {
  explicit Watcher(Engine& engine)
      : reader(engine.feed()->writer().header()), mirror(engine.feed()->writer().header()) {}
  void look() {
    Event events[512];
    std::size_t count = 0;
    for (;;) {
      const auto outcome = reader.read(events, std::size(events), count);
      if (outcome == FeedReader::Outcome::nothing) return;
      if (outcome == FeedReader::Outcome::lapped) mirror.lost(), ++laps;
      else mirror.take({events, count});
    }
  }
  FeedReader reader;
  Mirror mirror;
  int laps = 0;
};

/// Everything visit(), waiting() and sizes() tell, against the mirror.
struct Compare final : NodeVisitor, QueueVisitor {
  const Mirror& mirror;
  const EngineState& state;
  bool below;
  std::set<std::uint64_t> seen, waiting_seen;
  std::size_t group = 0;
  Compare(const Mirror& of, const Engine& with) : Compare(of, with.state()) {}
  /// `of_tier`: the mirror is Mirror::below.
  Compare(const Mirror& of, const EngineState& with, bool of_tier = false) : mirror(of), state(with), below(of_tier) {}

  void node(const NodeView& view) override {
    const auto id = static_cast<std::uint64_t>(view.facts.id);
    const MirrorNode* node = mirror.find(id);
    if (!node) disagree("node {} is not in the mirror", id);
    seen.insert(id);
    const std::uint64_t parent = node->parent ? mirror.node(node->parent).id : 0;
    expect_equal("parent", parent, static_cast<std::uint64_t>(view.parent));
    expect_equal("begin", node->begin, view.facts.begin);
    expect_equal("length", node->length, view.facts.length);
    expect_equal("namespace", node->space == view.facts.space, true);
    expect_equal("children", node->children, view.facts.children);
    expect_equal("hits", node->hits, view.facts.hits);
    expect_equal("inserts", node->inserts, view.facts.inserts);
    expect_equal("priority", node->priority, view.facts.priority);
    expect_equal("created", node->created, view.facts.created);
    if (state.pools[0].needs().whole_path()) expect_equal("last access", node->last_access, view.facts.last_access);
    for (std::size_t g = 0; g < mirror.groups(); ++g) {
      expect_equal("locks", mirror.locks(*node, g), std::uint64_t{view.locks[g]});
      std::vector<Page> pages(view.pages[g].size());
      for (const inspector::PageRun& run : node->pages)
        for (std::uint32_t i = 0; run.group == g && i < run.count; ++i) pages.at(run.place + i) = run.first + i;
      if (!std::equal(pages.begin(), pages.end(), view.pages[g].begin(), view.pages[g].end()))
        disagree("node {} has other pages of group {}", id, g);
      for (const Page page : pages)
        if (mirror.pool(g).owner[page] != static_cast<std::int64_t>(slot_of(view.facts.id)))
          disagree("page {} belongs to node {}, the mirror says {}", page, id, mirror.pool(g).owner[page]);
    }
  }
  void waiting(const NodeFacts& facts, Rank rank) override {
    const MirrorNode* node = mirror.find(static_cast<std::uint64_t>(facts.id));
    if (!node || !mirror.waits(*node, group)) disagree("a node waits, and the mirror does not know");
    waiting_seen.insert(node->id);
    if (node->rank[group] != rank) disagree("a node waits with another rank");
  }
  void run() {
    state.index->visit(*this);
    expect_equal("nodes", mirror.node_count(), seen.size());
    for (group = 0; group < mirror.groups(); ++group) {
      const Pool& pool = state.pools[group];
      expect_equal("segments", mirror.pool(group).segments.size(), pool.segments().size());
      for (std::size_t i = 0; i < pool.segments().size(); ++i) {
        const inspector::MirrorPool::Segment& segment = mirror.pool(group).segments[i];
        expect_equal("pages offered", segment.offered, pool.segments()[i].offered);
        expect_equal("draining pages", segment.draining, pool.segments()[i].draining);
        expect_equal("state", static_cast<int>(segment.state), static_cast<int>(pool.segments()[i].state()));
      }
      expect_equal("limit", mirror.pool(group).limit, pool.limit());
      const Sizes sizes = state.index->sizes(group);
      const inspector::MirrorPool::Sums& counted = mirror.pool(group).counted;
      expect_equal("free pages", counted.free, pool.occupancy().free + (below ? state.moving[group] : 0));
      expect_equal("evictable pages", counted.evictable, sizes.evictable / mirror.page_size());
      expect_equal("protected pages", counted.protected_, sizes.protected_ / mirror.page_size());
      waiting_seen.clear();
      state.index->waiting(group, *this);
      expect_equal("waiting", mirror.next_to_evict(group, ~std::size_t{0}).size(), waiting_seen.size());
      expect_equal("count of what waits", mirror.pool(group).waiting, std::uint64_t{waiting_seen.size()});
    }
    expect_equal("drift", mirror.drift(), std::uint64_t{0});
    if (!below) expect_equal("tick", mirror.tick(), state.index->now());
  }
};

std::string yaml(const char* groups, const char* accounting, const char* codec, const char* feed) {
  return fmt::format("page_size: 4\nkey: {}\nindex: {{ radix: {{ accounting: {} }} }}\ngroups:\n{}feed: {}\n", codec,
                     accounting, groups, feed);
}

constexpr const char* kFull = "  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n";
constexpr const char* kAll =
    "  full: { reach: path, capacity: 800, allocator: free_list, eviction: slru }\n"
    "  window: { reach: 10, capacity: 400, allocator: contiguous, eviction: lru }\n"
    "  state: { reach: 1, every: 12, capacity: 400, allocator: free_list, eviction: clock }\n";

}  // namespace

TEST_CASE("mirror: the replay of the feed equals the index, at every commit") {
  std::uint64_t blocked = 0;
  for (const char* groups : {kFull, kAll})
    for (const char* accounting : {"default", "sglang"})
      for (const char* codec : {"token", "bigram"}) {
        CAPTURE(groups);
        CAPTURE(accounting);
        CAPTURE(codec);
        const bool resizes = std::string_view(accounting) == "default";
        const auto engine = engine_of(yaml(groups, accounting, codec, "{ heap: { events: 262144, tokens: true } }") +
                                      "store: { host: { streams: { kv: 8 } } }\n" +
                                      (resizes ? "segment_pages: 7\nidle_segments: 1\n" : ""));
        Watcher watcher(*engine);
        RandomRequests requests(*engine, plugins(), 7, 3, true, resizes);
        try {
          for (std::size_t i = 0; i < with_effort(2'000); ++i) {
            requests.run(1);
            engine->poll();
            watcher.look();
            if (!watcher.mirror.in_step()) disagree("no keyframe came");
            expect_equal("drift", watcher.mirror.drift(), std::uint64_t{0});
            if (i % 16 == 0) Compare(watcher.mirror, *engine).run();
          }
          requests.finish();
          watcher.look();
          Compare(watcher.mirror, *engine).run();
        } catch (const Mismatch& difference) {
          FAIL(std::string(difference.what()));
        }
        CHECK(watcher.laps == 0);
        if (!resizes) CHECK(requests.reached().blocked == 0);
        blocked += requests.reached().blocked;
        CHECK(watcher.mirror.requests().size() > 10);
      }
  // Pools that had to wait for requests were among it; a short run need not come to that.
  if (effort() >= 1) CHECK(blocked > 3);
}

TEST_CASE("mirror: the tree and the pools of the tier below equal its index, and its figures the engine's") {
  for (const char* groups : {kFull, kAll}) {
    CAPTURE(groups);
    const auto engine =
        engine_of(yaml(groups, "default", "token", "{ heap: { events: 262144, tokens: true } }") +
                  "store: { host: { streams: { kv: 8 } } }\ntiers: { host: { capacity: 900, latency: 40 } }\n");
    Watcher watcher(*engine);
    Random random(3);
    std::vector<std::vector<Token>> history{{1, 2}};
    std::uint64_t now = 0, moving = 0;
    const auto look = [&] {
      engine->poll();
      watcher.look();
      const Mirror* const below = watcher.mirror.below();
      if (!watcher.mirror.in_step() || !below) disagree("no keyframe of both came");
      expect_equal("drift", watcher.mirror.drift(), std::uint64_t{0});
      expect_equal("commits", below->commits(), watcher.mirror.commits());
      Compare(watcher.mirror, *engine).run();
      Compare(*below, *engine->host_tier(), true).run();
      moving += engine->host_tier()->moving[0];
    };
    try {
      for (std::size_t i = 0; i < with_effort(300); ++i) {
        std::vector<Token> prompt = history[random.below(static_cast<std::uint32_t>(history.size()))];
        prompt.resize(1 + random.below(static_cast<std::uint32_t>(prompt.size())));
        for (std::uint32_t more = 1 + random.below(60); more > 0; --more) prompt.push_back(random.below(3));
        if (prompt.size() > 200) prompt.resize(200);
        const RequestSpec spec = arrival(prompt);
        Fetch fetch = engine->fetch(spec);
        engine->turn(now += random.below(60));
        look();
        Request request = engine->begin(spec, std::move(fetch));
        const auto tokens = static_cast<std::uint32_t>(prompt.size());
        if (request.reserve(tokens)) request.finish(tokens);
        look();
        history.push_back(std::move(prompt));
      }
      // The figures come with the totals: the next ones are the last.
      for (int i = 0; i < 20; ++i) engine->begin(arrival(history[0])).abort();
      look();
    } catch (const Mismatch& difference) {
      FAIL(std::string(difference.what()));
    }
    const TierFigures& moved = engine->tier_figures();
    const inspector::MirrorTier& told = watcher.mirror.tier();
    CHECK(moving > 0);
    CHECK(told.moved.written == moved.written_tokens);
    CHECK(told.moved.loaded == moved.loaded_tokens);
    CHECK(told.moved.hits == engine->counters().hit_tokens_host);
    CHECK(told.store.now.bytes == moved.written_bytes);
    CHECK(told.load.now.bytes == moved.loaded_bytes);
    CHECK(told.store.now.queued == moved.storing.copies);
    CHECK(told.load.now.queued == moved.loading.copies);
    CHECK(told.store.bytes_per_second > 0);
    CHECK(told.lost.dropped == moved.dropped_tokens);
    CHECK(told.lost.evicted == engine->host_tier()->counters.evicted_tokens);
    for (std::size_t i = 0; i < kFetchOutcomeCount; ++i) CHECK(told.fetches.by_outcome[i] == moved.fetches[i]);
    if (groups == kFull) CHECK(moved.loaded_tokens > 0);
    // A reader that comes now is told of both trees at once.
    Watcher late(*engine);
    for (int i = 0; i < 3; ++i) engine->poll(), late.look();
    REQUIRE(late.mirror.below());
    Compare(*late.mirror.below(), *engine->host_tier(), true).run();
  }
}

TEST_CASE("mirror: a reader that comes late or is lapped gets a keyframe, and is in step again") {
  const auto engine = engine_of(yaml(kAll, "default", "token", "{ heap: { events: 65536 } }") +
                                "store: { host: { streams: { kv: 8 } } }\n");
  RandomRequests requests(*engine, plugins(), 3, 2);
  requests.run(500);
  Watcher watcher(*engine);
  watcher.look();
  CHECK_FALSE(watcher.mirror.in_step());
  engine->poll();
  watcher.look();
  CHECK(watcher.mirror.in_step());
  Compare(watcher.mirror, *engine).run();
  {
    Watcher second(*engine);  // another one's keyframe changes nothing for the first
    requests.run(50);
    watcher.look();
    second.look();
    Compare(watcher.mirror, *engine).run();
    Compare(second.mirror, *engine).run();
  }
  requests.run(8'000);  // far more than the ring holds
  watcher.look();
  CHECK(watcher.laps == 1);
  CHECK_FALSE(watcher.mirror.in_step());
  engine->poll();
  watcher.look();
  CHECK(watcher.mirror.in_step());
  Compare(watcher.mirror, *engine).run();
}

TEST_CASE("mirror: without a reader nothing is written") {
  const auto engine =
      engine_of(yaml(kFull, "default", "token", "{ heap: {} }") + "store: { host: { streams: { kv: 8 } } }\n");
  RandomRequests requests(*engine, plugins(), 3, 2);
  requests.run(200);
  CHECK(engine->feed()->writer().at() == 0);
  {
    Watcher watcher(*engine);
    requests.run(20);
    CHECK(engine->feed()->writer().at() > 0);
  }
  requests.run(8);
  const std::uint64_t at = engine->feed()->writer().at();
  requests.run(200);
  CHECK(engine->feed()->writer().at() == at);
}

TEST_CASE("mirror: it knows why a request missed") {
  const auto engine = engine_of(
      "page_size: 4\ngroups:\n  full: { reach: path, capacity: 80, allocator: free_list, eviction: lru }\n"
      "feed: { heap: {} }\n");
  Watcher watcher(*engine);
  const auto serve = [&](const std::vector<Token>& prompt, const char* tenant = "") {
    RequestSpec asked = arrival(prompt);
    asked.space = engine->intern({tenant, "", ""});
    Request request = engine->begin(asked);
    const std::uint64_t id = request.id();
    REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
    request.commit(static_cast<std::uint32_t>(prompt.size()));
    request.finish(static_cast<std::uint32_t>(prompt.size()));
    engine->poll();
    watcher.look();
    const inspector::MirrorRequest* known = watcher.mirror.request(id);
    REQUIRE(known);
    CHECK(known->phase == RequestPhase::finished);
    return *known;
  };
  serve(tokens(1, 4));  // the keyframe comes
  const auto a = tokens(100, 40), b = tokens(500, 40), c = tokens(900, 40);
  CHECK(serve(a).miss == inspector::Miss::never_seen);
  CHECK(serve(a).miss == inspector::Miss::rounding);
  serve(b);
  serve(c);  // a has left by now
  const auto again = serve(a);
  CHECK(again.miss == inspector::Miss::evicted);
  CHECK(again.missed_policy == "lru");
  CHECK(again.missed_tokens == 36);  // its second use had cut it there
  CHECK(watcher.mirror.why_missed(again).find("evicted at tick") == 0);
  const auto elsewhere = serve(a, "acme");
  CHECK(elsewhere.miss == inspector::Miss::other_space);
  CHECK(watcher.mirror.why_missed(elsewhere) ==
        "it is there for namespace 'shared', and no prefix is shared across two");
  CHECK(watcher.mirror.drift() == 0);
}

namespace {

bool is_not_known(inspector::Miss miss) {
  return miss == inspector::Miss::before_attach || miss == inspector::Miss::lost_in_lap ||
         miss == inspector::Miss::forgotten;
}

/// What a mirror that missed something says of each request is what the one that saw all says, or that it is not known.
/// Returns how many are not known.
std::size_t compare_reasons(const Mirror& all, const Mirror& some, inspector::Miss not_known) {
  std::size_t unknown = 0, recognised = 0;
  for (const inspector::MirrorRequest& request : some.requests()) {
    const inspector::MirrorRequest* truth = all.request(request.id);
    if (!truth) disagree("request {} never was", request.id);
    if (is_not_known(request.miss)) {
      expect_equal("why it is not known", static_cast<int>(request.miss), static_cast<int>(not_known));
      ++unknown;
    } else if (request.miss == inspector::Miss::evicted && truth->miss != inspector::Miss::evicted) {
      // It saw that eviction. The one that saw all recognises a prefix by the edges of its nodes, and these may have
      // lain elsewhere in what it remembers.
      ++recognised;
    } else {
      if (request.miss != truth->miss)
        disagree("request {} missed by reason {}, and the late one says {}", request.id, static_cast<int>(truth->miss),
                 static_cast<int>(request.miss));
    }
  }
  if (recognised > 1 + some.requests().size() / 100)
    disagree("{} evictions that only the late one recognises", recognised);
  return unknown;
}

}  // namespace

TEST_CASE("mirror: what a late or a lapped reader cannot know it calls not known and never a reason") {
  using inspector::Miss;
  for (const char* groups : {kFull, kAll}) {
    CAPTURE(groups);
    const auto engine = engine_of(yaml(groups, "default", "token", "{ heap: { events: 65536 } }") +
                                  "store: { host: { streams: { kv: 8 } } }\n");
    Watcher all(*engine), lapped(*engine);
    RandomRequests requests(*engine, plugins(), 11, 2);
    const auto run = [&](std::size_t operations) {
      for (std::size_t i = 0; i < operations; ++i) {
        requests.run(1);
        all.look();
      }
    };
    run(800);
    lapped.look();
    Watcher late(*engine);
    run(1'200);
    late.look();
    engine->poll();
    try {
      const std::size_t unknown = compare_reasons(all.mirror, late.mirror, Miss::before_attach);
      CHECK(unknown > 10);
      CHECK(unknown < late.mirror.requests().size());
      CHECK(late.mirror.drift() == 0);
      for (int i = 0; lapped.laps == 0 && i < 20; ++i) {
        run(2'000);
        if (i > 4) lapped.look();
      }
      REQUIRE(lapped.laps == 1);
      run(400);
      lapped.look();
      REQUIRE(lapped.mirror.in_step());
      CHECK(compare_reasons(all.mirror, lapped.mirror, Miss::lost_in_lap) > 0);
    } catch (const Mismatch& difference) {
      FAIL(std::string(difference.what()));
    }
    // Their chips are apart from those of what was never seen.
    bool told = false;
    for (const inspector::MissGroup& group : late.mirror.misses()) {
      CHECK(group.miss != Miss::never_seen);
      told |= group.miss == Miss::before_attach && reason_words(group) == "not known: before I attached";
    }
    CHECK(told);
    for (const inspector::MissGroup& group : all.mirror.misses()) CHECK_FALSE(is_not_known(group.miss));
  }
}

TEST_CASE("mirror: a node that never had a state is not one whose state was evicted") {
  const auto engine = engine_of(yaml(kAll, "default", "token", "{ heap: { events: 262144 } }") +
                                "store: { host: { streams: { kv: 8 } } }\n");
  Watcher watcher(*engine);
  RandomRequests requests(*engine, plugins(), 5, 2);
  std::map<std::uint64_t, std::set<std::size_t>> had;  // by node: the groups it ever had pages of
  std::size_t never = 0, lost = 0;
  for (int i = 0; i < 3'000; ++i) {
    requests.run(1);
    watcher.look();
    const Mirror& mirror = watcher.mirror;
    mirror.each_node([&](const MirrorNode& node) {
      for (std::size_t g = 0; g < mirror.groups(); ++g) {
        if (node.has(g)) had[node.id].insert(g);
        if (node.has(g) || node.added_at + 1 < mirror.commits())
          continue;  // what a split's upper half had is not known
        never += mirror.state(node, g) == inspector::NodeState::without;
      }
    });
    mirror.each_node([&](const MirrorNode& node) {
      for (std::size_t g = 0; g < mirror.groups(); ++g)
        if (!node.has(g) && had[node.id].contains(g)) {
          CHECK(mirror.state(node, g) == inspector::NodeState::tombstone);
          ++lost;
        }
    });
  }
  CHECK(never > 10);
  CHECK(lost > 10);
  Watcher late(*engine);
  engine->poll();
  late.look();
  late.mirror.each_node([&](const MirrorNode& node) {
    CHECK(node.told_late);
    for (std::size_t g = 0; g < late.mirror.groups(); ++g)
      CHECK(late.mirror.state(node, g) != inspector::NodeState::tombstone);
  });
}

TEST_CASE("mirror: what was flushed was not evicted by the policy") {
  const auto engine = engine_of(
      "page_size: 4\ngroups:\n  full: { reach: path, capacity: 80, allocator: free_list, eviction: lru }\n"
      "feed: { heap: { controls: true } }\n");
  Watcher watcher(*engine);
  const auto serve = [&] {
    Request request = engine->begin(arrival(tokens(100, 40)));
    const std::uint64_t id = request.id();
    REQUIRE(request.reserve(40));
    request.commit(40);
    request.finish(40);
    engine->poll();
    watcher.look();
    return *watcher.mirror.request(id);
  };
  serve();
  engine->flush(NamespaceId::shared);
  const auto again = serve();
  CHECK(again.miss == inspector::Miss::evicted);
  CHECK(again.missed_policy == "a flush");
}

TEST_CASE("mirror: when more is evicted than it remembers the older is not known") {
  FeedHeader header{};
  header.page_size = 4, header.groups = 1, header.reaches[0] = kWholePath;
  Mirror mirror(header);
  std::uint64_t operations = 0, request = 0;
  std::vector<Event> events;
  const auto commit = [&](Operation operation) {
    events.push_back(event::Commit{operation, operations, operations, operations}.encode());
    ++operations;
    mirror.take(events);
    events.clear();
  };
  std::uint64_t life = 0;
  const auto serve_and_evict = [&](std::uint64_t digest) {
    const NodeId node{++life << 32 | 1};
    events.push_back(event::RequestBegun{++request, 40, 0, {}, false}.encode());
    commit(Operation::begin);
    events.push_back(event::NodeAdded{node, 0, 8, {}, 0, 0}.encode());
    events.push_back(event::NodeNamed{node, digest, operations}.encode());
    events.push_back(event::RequestProgress{request, RequestPhase::committed, 40, 36, 40}.encode());
    commit(Operation::insert);
    const inspector::Miss miss = mirror.request(request)->miss;
    events.push_back(event::RequestProgress{request, RequestPhase::finished, 40, 36, 40}.encode());
    events.push_back(event::NodeRemoved{node, false}.encode());
    commit(Operation::evict);
    return miss;
  };
  events.push_back(event::Keyframe{}.encode());
  commit(Operation::none);
  CHECK(serve_and_evict(1) == inspector::Miss::never_seen);
  CHECK(serve_and_evict(1) == inspector::Miss::evicted);
  for (std::uint64_t i = 0; i <= std::uint64_t{1} << 20; ++i) {
    const NodeId node{++life << 32 | 1};
    events.push_back(event::NodeAdded{node, 0, 8, {}, 0, 0}.encode());
    events.push_back(event::NodeNamed{node, 100 + i, operations}.encode());
    events.push_back(event::NodeRemoved{node, false}.encode());
    if (i % 1024 == 0) commit(Operation::evict);
  }
  commit(Operation::evict);
  CHECK(serve_and_evict(1) == inspector::Miss::forgotten);
  CHECK(serve_and_evict(1) == inspector::Miss::evicted);  // since then it is known again
}

TEST_CASE("mirror: a damaged feed is passed over, never followed") {
  const auto engine = engine_of(yaml(kAll, "default", "token", "{ heap: { events: 262144 } }") +
                                "store: { host: { streams: { kv: 8 } } }\n");
  Watcher watcher(*engine);
  RandomRequests requests(*engine, plugins(), 5, 2);
  std::vector<Event> events;
  for (int i = 0; i < 300; ++i) {
    requests.run(1);
    Event some[512];
    for (std::size_t count = 0; watcher.reader.read(some, std::size(some), count) == FeedReader::Outcome::events;)
      events.insert(events.end(), some, some + count);
  }
  Random random(1);
  for (std::uint64_t round = 0; round < with_effort(200); ++round) {
    std::vector<Event> damaged = events;
    for (int k = 0; k < 40; ++k) {
      Event& event = damaged[random.below(static_cast<std::uint32_t>(damaged.size()))];
      auto* bytes = reinterpret_cast<unsigned char*>(&event);
      bytes[random.below(sizeof(event))] = static_cast<unsigned char>(random.next());
    }
    Mirror mirror(engine->feed()->writer().header());
    mirror.take(damaged);
    for (std::uint32_t slot = 1; slot < mirror.slots(); ++slot)
      if (mirror.node(slot).id) mirror.locks(mirror.node(slot), 0);
    mirror.next_to_evict(0, 10);
  }
}
