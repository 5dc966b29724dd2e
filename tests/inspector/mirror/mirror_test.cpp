#include <account/history.h>
#include <account/range_figures.h>
#include <canopy/base/random.h>
#include <canopy/feed/reader.h>
#include <conformance/model/effort.h>
#include <doctest/doctest.h>
#include <mirror/mirror.h>
#include <mirror/names.h>
#include <program/mismatch.h>
#include <support/engines.h>
#include <support/random_requests.h>

#include <chrono>
#include <set>
#include <thread>

#include "watcher.h"

using namespace canopy;
using namespace canopy::test;
using inspector::Mirror;
using inspector::MirrorNode;

namespace {

/// Compares all results of visit(), waiting() and sizes() with the mirror.
struct Compare final : NodeVisitor, QueueVisitor {
  const Mirror& mirror;
  const CacheState& state;
  bool below;
  std::set<std::uint64_t> seen, waiting_seen;
  std::size_t group = 0;
  Compare(const Mirror& of, const Engine& with) : Compare(of, state_of(with)) {}
  /// `of_tier`: the mirror is Mirror::below.
  Compare(const Mirror& of, const CacheState& with, bool of_tier = false) : mirror(of), state(with), below(of_tier) {}

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
    if (mirror.pool(group).rank[slot_of(facts.id)] != rank) disagree("a node waits with another rank");
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
      state.index->component().waiting(group, *this);
      expect_equal("waiting", mirror.next_to_evict(group, ~std::size_t{0}).size(), waiting_seen.size());
      expect_equal("count of what waits", mirror.pool(group).waiting, std::uint64_t{waiting_seen.size()});
    }
    expect_equal("drift", mirror.drift(), std::uint64_t{0});
    if (!below) expect_equal("tick", mirror.tick(), state.index->now());
  }
};

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

TEST_CASE("mirror: no tenant can take the name that readers give to another namespace") {
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 4096 } }"));
  Watcher watcher(*engine);
  std::set<std::string> rows;
  const char* const names[] = {"", "shared", "(shared)", "'(shared)'", "(namespace 2)", "(other)"};
  for (const char* const name : names) {
    const std::vector<Token> prompt = tokens(1, 32);
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern({name, {}, {}});
    engine->begin(spec).abort();
    watcher.look();
    rows.insert(watcher.mirror.space_name(spec.space));
  }
  CHECK(rows ==
        std::set<std::string>{"(shared)", "shared", "'(shared)'", "''(shared)''", "'(namespace 2)'", "'(other)'"});
  CHECK(watcher.mirror.space_name(NamespaceId{77}) == "(namespace 77)");
}

TEST_CASE("mirror: a request runs, is retracted, and runs again") {
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 262144, tokens: true } }"));
  engine->poll();
  Watcher watcher(*engine);
  const auto prompt = tokens(1, 20);
  Request request = engine->begin(arrival(prompt));
  const auto phase = [&] {
    engine->poll();
    watcher.look();
    const auto& requests = watcher.mirror.requests();
    return requests.empty() ? RequestPhase::aborted : requests.front().phase;
  };
  CHECK(phase() == RequestPhase::running);  // it has no page yet
  REQUIRE(request.reserve(20));
  CHECK(phase() == RequestPhase::running);
  request.retract();
  CHECK(phase() == RequestPhase::retracted);
  Watcher late(*engine);
  engine->poll();
  late.look();
  REQUIRE(late.mirror.requests().size() == 1);
  CHECK(late.mirror.requests().front().phase == RequestPhase::retracted);
  // It did not begin under this reader's eyes: it runs, and counts as nothing else.
  CHECK(late.mirror.running() == 1);
  CHECK(late.mirror.prompt_tokens() == 0);
  request.resume();
  CHECK(phase() == RequestPhase::resumed);
}

TEST_CASE("mirror: a reader that comes late knows the namespaces of the tier below by their names") {
  const auto engine =
      engine_of(yaml(kFull, "default", "token", "{ heap: { events: 262144, tokens: true } }") +
                "store: { host: { streams: { kv: 8 } } }\ntiers: { host: { capacity: 900, latency: 40us } }\n");
  const NamespaceId space = engine->intern({.tenant = "a tenant"});
  engine->poll();
  Watcher late(*engine);
  late.look();
  engine->poll();
  late.look();
  REQUIRE(late.mirror.below());
  CHECK(late.mirror.space_name(space).find("a tenant") != std::string::npos);
  CHECK(late.mirror.below()->space_name(space) == late.mirror.space_name(space));
}

TEST_CASE("mirror: the tree and the pools of the tier below equal its index, and its figures the engine's") {
  for (const char* groups : {kFull, kAll}) {
    CAPTURE(groups);
    const auto engine =
        engine_of(yaml(groups, "default", "token", "{ heap: { events: 262144, tokens: true } }") +
                  "store: { host: { streams: { kv: 8 } } }\ntiers: { host: { capacity: 900, latency: 40us } }\n");
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
      Compare(*below, *state_of(*engine).below, true).run();
      moving += state_of(*engine).below->moving[0];
    };
    try {
      for (std::size_t i = 0; i < with_effort(300); ++i) {
        std::vector<Token> prompt = history[random.below(static_cast<std::uint32_t>(history.size()))];
        prompt.resize(1 + random.below(static_cast<std::uint32_t>(prompt.size())));
        for (std::uint32_t more = 1 + random.below(60); more > 0; --more) prompt.push_back(random.below(3));
        if (prompt.size() > 200) prompt.resize(200);
        const RequestSpec spec = arrival(prompt);
        Fetch fetch = engine->tiers().fetch(spec);
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
    const CounterValues counted = engine->tiers().counters();
    CHECK(moving > 0);
    for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
      CHECK_MESSAGE(watcher.mirror.counters().at(counter, row, column) == counted.at(counter, row, column), info.name);
    });
    CHECK(counted.at(Counter::bandwidth_bytes_host, HostLane::store) > 0);
    if (groups == kFull) CHECK(counted[Counter::loaded_tokens_host] > 0);
    // A reader that comes now gets both trees at once.
    Watcher late(*engine);
    for (int i = 0; i < 3; ++i) engine->poll(), late.look();
    REQUIRE(late.mirror.below());
    Compare(*late.mirror.below(), *state_of(*engine).below, true).run();
  }
}

TEST_CASE("feed: the steps of a fetch are reported: it begins, makes room, and reserves") {
  const auto engine = engine_of(yaml("  full: { reach: path, capacity: 64, allocator: free_list, eviction: lru }\n",
                                     "default", "token", "{ heap: { events: 4096, tokens: false } }") +
                                "tiers: { host: { capacity: 4000, latency: 40us } }\n");
  FeedReader reader(engine->feed()->writer().header());
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(40);
  leave(*engine, tokens(900, 40));
  engine->poll();
  std::vector<Event> events(4096);
  std::size_t count = 0;
  while (reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events) {
  }
  const Fetch fetch = engine->tiers().fetch(arrival(prompt));
  REQUIRE(fetch.tokens() == 40);
  std::vector<Operation> commits, begun_in;
  std::size_t begun = 0;
  while (reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events)
    for (const Event& event : std::span(events).first(count)) {
      if (event.kind == event::RequestBegun::kKind) begun += std::bit_cast<event::RequestBegun>(event).fetch;
      if (event.kind != event::Commit::kKind) continue;
      commits.push_back(std::bit_cast<event::Commit>(event).operation);
      if (std::exchange(begun, 0) > 0) begun_in.push_back(commits.back());
    }
  CHECK(begun_in == std::vector{Operation::begin});
  CHECK(commits == std::vector{Operation::begin, Operation::evict, Operation::reserve});
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
    second.look();
    // Keyframes take at most a tenth of the time: on a slow machine the second one comes later.
    for (int tries = 0; !second.mirror.in_step() && tries < 10'000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      engine->poll();
      second.look();
    }
    watcher.look();
    Compare(watcher.mirror, *engine).run();
    Compare(second.mirror, *engine).run();
  }
  requests.run(16'000);  // far more than the ring holds
  watcher.look();
  CHECK(watcher.laps == 1);
  CHECK_FALSE(watcher.mirror.in_step());
  for (int tries = 0; !watcher.mirror.in_step() && tries < 10'000; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    engine->poll();
    watcher.look();
  }
  CHECK(watcher.mirror.in_step());
  Compare(watcher.mirror, *engine).run();
}

TEST_CASE("mirror: a counter that is back where the others saw it last is sent again after a keyframe") {
  const auto engine = engine_of(yaml("  full: { reach: path, capacity: 64, allocator: free_list, eviction: lru }\n",
                                     "default", "token", "{ heap: { events: 4096, tokens: false } }") +
                                "tiers: { host: { capacity: 4000, latency: 40us } }\n");
  const auto queued = [](const Watcher& watcher) {
    return watcher.mirror.counters().at(Counter::queued_copies_host, HostLane::store);
  };
  Watcher first(*engine);
  engine->poll();
  first.look();
  leave(*engine, tokens(100, 41));
  engine->make_free(0, 16);  // begins to copy; a turn would send the counters
  Watcher second(*engine);
  for (int tries = 0; !second.mirror.in_step() && tries < 10'000; ++tries) {
    engine->poll();
    second.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(second.mirror.in_step());
  CHECK(queued(second) > 0);
  engine->turn(100);
  first.look();
  second.look();
  CHECK(queued(first) == 0);
  CHECK(queued(second) == 0);
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

TEST_CASE(
    "mirror: a namespace with a number that no engine reaches is damage: a watcher that counts by it gets no such") {
  const auto engine = engine_of(yaml(kAll, "default", "token", "{ heap: { events: 262144 } }"));
  Mirror mirror(engine->feed()->writer().header());
  inspector::History history;
  const auto take = [&](NamespaceId space, std::uint64_t request) {
    const Event events[] = {
        std::bit_cast<Event>(event::RequestBegun{.prompt = 100, .request = request, .space = space}),
        std::bit_cast<Event>(event::Commit{})};
    mirror.take(events, history.watch(mirror));
  };
  const Event keyframe[] = {std::bit_cast<Event>(event::Keyframe{}), std::bit_cast<Event>(event::Commit{})};
  mirror.take(keyframe, history.watch(mirror));
  for (const std::uint32_t number : {~0U, ~0U - 1, 1U << 31, 1U << 22}) take(NamespaceId{number}, number);
  CHECK(mirror.requests().empty());
  CHECK(mirror.spaces().size() < 100);
  take(NamespaceId{(1U << 22) - 1}, 7);
  CHECK(mirror.requests().size() == 1);
  CHECK(history.tenants().size() == 2);
}

TEST_CASE(
    "mirror: nodes that a commit clears and adds again with their ids have other places, and nothing was flushed") {
  struct Counts final : inspector::MirrorWatcher {
    void added(const MirrorNode&) override { ++in; }
    void left(const MirrorNode&, std::size_t, Operation) override { ++out; }
    void removed(const MirrorNode& node) override { gone.insert(slot_of(NodeId{node.id})); }
    void committed(const inspector::LogLine& line) override { operation = line.operation; }
    int in = 0, out = 0;
    std::set<std::uint32_t> gone;
    Operation operation = Operation::none;
  } counts;
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 262144 } }"));
  Mirror mirror(engine->feed()->writer().header());
  const auto node = [](std::uint64_t number, std::uint64_t life = 1) { return NodeId{life << 32 | number}; };
  const auto added = [&](NodeId id, std::uint32_t parent) {
    return std::bit_cast<Event>(event::NodeAdded{.resident = 1, .node = id, .parent = parent, .length = 16});
  };
  const auto take = [&](Operation operation, std::vector<Event> events) {
    events.push_back(std::bit_cast<Event>(event::Commit{.operation = operation}));
    mirror.take(events, &counts);
  };
  const auto sums = [&] { return std::pair(mirror.pool(0).counted.evictable, mirror.pool(0).counted.protected_); };
  const Event cleared = std::bit_cast<Event>(event::Cleared{});
  const Event locked = std::bit_cast<Event>(event::Locked{.node = node(3)});
  take(Operation::none, {std::bit_cast<Event>(event::Keyframe{})});
  take(Operation::insert, {added(node(1), 0), added(node(2), 1), added(node(3), 2), locked});
  CHECK(sums() == std::pair<std::uint64_t, std::uint64_t>(0, 12));

  take(Operation::release, {added(node(4), 3), cleared, added(node(1), 0), added(node(2), 0), added(node(3), 2), locked,
                            added(node(4), 3)});
  CHECK(counts.operation == Operation::release);
  CHECK(counts.in == 4);
  CHECK(counts.out == 0);
  CHECK(counts.gone.empty());
  CHECK(mirror.evicted_tokens() == 0);
  CHECK(mirror.node_count() == 4);
  CHECK(mirror.spaces()[0].tokens == 64);
  CHECK(mirror.node(2).parent == 0);
  CHECK(mirror.node(2).begin == 0);
  CHECK(mirror.node(4).begin == 32);
  CHECK(mirror.node(3).added_at == 2);
  CHECK(mirror.node(1).hold[0] == 0);
  CHECK(mirror.node(2).hold[0] == 1);
  CHECK(mirror.node(3).hold[0] == 1);
  CHECK(sums() == std::pair<std::uint64_t, std::uint64_t>(8, 8));

  // One leaves, and those below it stay.
  take(Operation::evict, {std::bit_cast<Event>(event::NodeRemoved{.node = node(2)}), cleared, added(node(1), 0),
                          added(node(3), 1), locked, added(node(4), 3)});
  CHECK(counts.operation == Operation::evict);
  CHECK(counts.out == 1);
  CHECK(counts.gone == std::set<std::uint32_t>{2});
  CHECK(mirror.evicted_tokens() == 16);
  CHECK(mirror.node_count() == 3);
  CHECK(mirror.node(3).begin == 16);
  CHECK(sums() == std::pair<std::uint64_t, std::uint64_t>(4, 8));

  // Another life of a slot is another node.
  take(Operation::insert, {cleared, added(node(1, 2), 0)});
  CHECK(counts.operation == Operation::flush);
  CHECK(counts.gone == std::set<std::uint32_t>{1, 2, 3, 4});
  CHECK(counts.in == 5);
  CHECK(mirror.node_count() == 1);
  take(Operation::insert, {cleared});
  CHECK(counts.operation == Operation::flush);
  CHECK(counts.out == 5);
  CHECK(mirror.node_count() == 0);
  CHECK(sums() == std::pair<std::uint64_t, std::uint64_t>(0, 0));

  // A damaged recording announces nodes, and clears them again.
  take(Operation::insert, {added(node(1, 3), 0), added(node(2, 3), 1)});
  take(Operation::insert, {cleared, added(node(1, 3), 0), added(node(2, 3), 1), cleared, added(node(1, 3), 2)});
  CHECK(mirror.node_count() == 1);
  CHECK(mirror.node(1).parent == 0);
  CHECK(mirror.find(static_cast<std::uint64_t>(node(2, 3))) == nullptr);
  CHECK(sums() == std::pair<std::uint64_t, std::uint64_t>(4, 0));
}

TEST_CASE("mirror: a request that names the node of its match is a use of it and of those above, without a lock") {
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 262144 } }"));
  const auto node = [](std::uint64_t number) { return NodeId{std::uint64_t{1} << 32 | number}; };
  const auto begun = [&](std::uint64_t request, std::uint32_t matched, NodeId at) {
    return std::bit_cast<Event>(event::RequestBegun{.prompt = 40, .request = request, .matched = matched, .node = at});
  };
  Mirror mirror(engine->feed()->writer().header());
  inspector::History history;
  const auto take = [&](std::vector<Event> events) {
    events.push_back(std::bit_cast<Event>(event::Commit{}));
    mirror.take(events, history.watch(mirror));
  };
  const auto matches = [&](std::uint64_t number) { return mirror.node(static_cast<std::uint32_t>(number)).matches; };
  const auto removed = [&](std::uint64_t number) {
    return std::bit_cast<Event>(event::NodeRemoved{.node = node(number)});
  };
  take({std::bit_cast<Event>(event::Keyframe{})});
  take({std::bit_cast<Event>(event::NodeAdded{.resident = 1, .node = node(1), .length = 16}),
        std::bit_cast<Event>(event::NodeAdded{.resident = 1, .node = node(2), .parent = 1, .length = 16}),
        std::bit_cast<Event>(event::NodeAdded{.resident = 1, .node = node(3), .parent = 1, .length = 16})});
  take({begun(1, 20, NodeId{})});
  CHECK_FALSE(mirror.reports_uses());
  take({begun(2, 32, node(2))});
  CHECK(mirror.reports_uses());
  CHECK(matches(1) == 1);
  CHECK(matches(2) == 1);
  CHECK(matches(3) == 0);
  CHECK(mirror.node(2).uses() == 1);
  CHECK(mirror.node(2).used_work == 80);  // behind the prompt of its user
  CHECK(mirror.node(2).hold[0] == 0);
  take({begun(3, 0, node(2))});
  CHECK(matches(2) == 1);
  take({begun(4, 32, NodeId{std::uint64_t{2} << 32 | 2})});  // another life of the slot
  CHECK(matches(2) == 1);
  take({std::bit_cast<Event>(event::NodeUsed{.node = node(2), .tick = 7}), begun(5, 32, node(2))});
  CHECK(matches(2) == 2);
  CHECK(mirror.node(2).used_work == 200);  // at the fifth
  take({removed(2), removed(3)});
  CHECK(inspector::figures_of(history, {}).counts[inspector::Count::wasted] == 16);
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
    inspector::History history;
    mirror.take(damaged, history.watch(mirror));
    for (std::uint32_t slot = 1; slot < mirror.slots(); ++slot)
      if (mirror.node(slot).id) mirror.locks(mirror.node(slot), 0);
    mirror.next_to_evict(0, 10);
  }
}

TEST_CASE("mirror: a request that is tried again and again counts once, for every reader, whenever it came") {
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 262144 } }"));
  Watcher watcher(*engine);
  const auto look = [&](Watcher& by) {
    engine->poll();
    by.look();
  };
  look(watcher);
  const auto first = tokens(1, 200);
  auto second = tokens(1, 200);
  for (std::size_t i = 100; i < second.size(); ++i) second[i] += 5'000;
  Request runs = engine->begin(arrival(first));
  REQUIRE(runs.reserve(300));
  runs.commit(200);
  for (int tries = 0; tries < 5; ++tries) {
    Request request = engine->begin(arrival(second));
    CHECK_FALSE(request.reserve(250));
  }
  Request waits = engine->begin(arrival(second));
  CHECK_FALSE(waits.reserve(250));
  look(watcher);
  CHECK(watcher.mirror.prompt_tokens() == 200);
  CHECK(watcher.mirror.hit_tokens() == 0);
  CHECK(watcher.mirror.tries() == 5);
  CHECK(watcher.mirror.running() == 2);
  CHECK(inspector::phase_word(watcher.mirror.requests().back()) == std::string("waiting"));
  CHECK(inspector::phase_word(watcher.mirror.requests()[1]) == std::string("not admitted"));
  Watcher late(*engine);  // attaches while the request waits
  look(late), look(watcher);
  CHECK(late.mirror.prompt_tokens() == 0);
  CHECK(late.mirror.running() == 2);
  runs.finish(200);
  REQUIRE(waits.reserve(250));
  waits.commit(200);
  waits.abort();
  for (Watcher* const each : {&watcher, &late}) {
    look(*each);
    CHECK(each->mirror.prompt_tokens() == (each == &late ? 200 : 400));
    CHECK(each->mirror.hit_tokens() == 100);
    CHECK(each->mirror.running() == 0);
    CHECK(each->mirror.drift() == 0);
    CHECK(each->mirror.requests().back().admitted());
    std::uint64_t missed = 0;
    for (const inspector::MissGroup& group : each->mirror.misses()) missed += group.tokens;
    CHECK(missed == 300);
  }
  CHECK(watcher.mirror.tries() == 5);
  CHECK(late.mirror.tries() == 0);
}

TEST_CASE("history: tries are a count of their own, in no other figure, and leave no life of a request behind") {
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 262144 } }"));
  FeedReader reader(engine->feed()->writer().header());
  Mirror mirror(engine->feed()->writer().header());
  inspector::History history;
  const auto look = [&] {
    engine->poll();
    Event events[512];
    for (std::size_t count = 0; reader.read(events, std::size(events), count) == FeedReader::Outcome::events;)
      mirror.take({events, count}, history.watch(mirror));
  };
  look();
  const auto first = tokens(1, 200), second = tokens(5'001, 200), third = tokens(9'001, 40);
  Request runs = engine->begin(arrival(first));
  REQUIRE(runs.reserve(300));
  runs.commit(200);
  {
    Request tried = engine->begin(arrival(second)), waits = engine->begin(arrival(third));
    CHECK_FALSE(tried.reserve(250));
    tried.abort();  // a request that came later still runs
    REQUIRE(waits.reserve(40));
    waits.finish(40);
  }
  runs.finish(200);
  look();
  const inspector::RangeFigures figures = inspector::figures_of(history, {});
  CHECK(figures.counts[inspector::Count::requests] == 2);
  CHECK(figures.counts[inspector::Count::prompt] == 240);
  CHECK(figures.counts[inspector::Count::tries] == 1);
  std::uint64_t missed = 0;
  for (const std::uint64_t tokens : figures.missed) missed += tokens;
  CHECK(missed == 240);
  REQUIRE(history.spans().size() == 2);
  CHECK(history.spans()[0].prompt == 200);
  CHECK(history.spans()[1].prompt == 40);
  for (const inspector::RequestSpan& span : history.spans()) {
    CHECK(span.ended);
    CHECK(span.begun.commit < span.admitted.commit);
    CHECK(span.phase == RequestPhase::finished);
  }
}
