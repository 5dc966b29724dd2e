/// The reasons of misses, in a mirror that saw everything and in one that did not.
#include <canopy/base/random.h>
#include <conformance/model/effort.h>
#include <doctest/doctest.h>
#include <program/mismatch.h>
#include <support/random_requests.h>

#include <map>
#include <set>

#include "watcher.h"

using namespace canopy;
using namespace canopy::test;
using inspector::Mirror;
using inspector::MirrorNode;

TEST_CASE("mirror: it knows why a request missed") {
  const auto engine = engine_of(
      "page_size: 4\ngroups:\n  full: { reach: path, capacity: 80, allocator: free_list, eviction: lru }\n"
      "feed: { heap: {} }\n");
  Watcher watcher(*engine);
  const auto serve = [&](const std::vector<Token>& prompt, const char* tenant = "") {
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern({tenant, "", ""});
    Request request = engine->begin(spec);
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
  CHECK(watcher.mirror.why_missed(elsewhere) == "it is cached in namespace (shared), and namespaces share no prefixes");
  CHECK(watcher.mirror.drift() == 0);
}

namespace {

bool is_not_known(inspector::Miss miss) {
  return miss == inspector::Miss::before_attach || miss == inspector::Miss::lost_in_lap ||
         miss == inspector::Miss::forgotten;
}

/// Expects that a mirror that missed something has the same reason for each request as the one that saw all, or that
/// the reason is not known. Returns the number of those that are not known.
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
        run(6'000);
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
    bool is_marked = false;
    for (const inspector::MissGroup& group : late.mirror.misses()) {
      CHECK(group.miss != Miss::never_seen);
      is_marked |= group.miss == Miss::before_attach && reason_words(group) == "not known: before attaching";
    }
    CHECK(is_marked);
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
          continue;  // the pages of a split's upper half are not known
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
    CHECK(node.reported_late);
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
    events.push_back(std::bit_cast<Event>(
        event::Commit{.operation = operation, .tick = operations, .operations = operations, .us = operations}));
    ++operations;
    mirror.take(events);
    events.clear();
  };
  std::uint64_t life = 0;
  const auto serve_and_evict = [&](std::uint64_t digest) {
    const NodeId node{++life << 32 | 1};
    events.push_back(std::bit_cast<Event>(event::RequestBegun{.prompt = 40, .request = ++request}));
    commit(Operation::begin);
    events.push_back(std::bit_cast<Event>(event::NodeAdded{.node = node, .length = 8}));
    events.push_back(std::bit_cast<Event>(event::NodeNamed{.node = node, .digest = digest, .created = operations}));
    events.push_back(std::bit_cast<Event>(event::RequestProgress{
        .phase = RequestPhase::committed, .computed = 40, .request = request, .committed = 36, .tokens = 40}));
    commit(Operation::insert);
    const inspector::Miss miss = mirror.request(request)->miss;
    events.push_back(std::bit_cast<Event>(event::RequestProgress{
        .phase = RequestPhase::finished, .computed = 40, .request = request, .committed = 36, .tokens = 40}));
    events.push_back(std::bit_cast<Event>(event::NodeRemoved{.node = node}));
    commit(Operation::evict);
    return miss;
  };
  events.push_back(std::bit_cast<Event>(event::Keyframe{}));
  commit(Operation::none);
  CHECK(serve_and_evict(1) == inspector::Miss::never_seen);
  CHECK(serve_and_evict(1) == inspector::Miss::evicted);
  for (std::uint64_t i = 0; i <= std::uint64_t{1} << 20; ++i) {
    const NodeId node{++life << 32 | 1};
    events.push_back(std::bit_cast<Event>(event::NodeAdded{.node = node, .length = 8}));
    events.push_back(std::bit_cast<Event>(event::NodeNamed{.node = node, .digest = 100 + i, .created = operations}));
    events.push_back(std::bit_cast<Event>(event::NodeRemoved{.node = node}));
    if (i % 1024 == 0) commit(Operation::evict);
  }
  commit(Operation::evict);
  CHECK(serve_and_evict(1) == inspector::Miss::forgotten);
  CHECK(serve_and_evict(1) == inspector::Miss::evicted);  // since then it is known again
}
