/// Locks with their owners: what requests, pins and fetches explain, and what nothing does.
#include <doctest/doctest.h>
#include <mirror/held_locks.h>
#include <support/random_requests.h>

#include "watcher.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("locks: over random requests, every lock of an engine has its request") {
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 65536 } }").c_str());
  Watcher watcher(*engine);
  engine->poll();
  watcher.look();
  RandomRequests requests(*engine, plugins(), 5, 3, true, false);
  std::size_t most = 0;
  for (int i = 0; i < 300; ++i) {
    requests.run(1);
    engine->poll();
    watcher.look();
    std::size_t running = 0;
    const auto held = held_locks(watcher.mirror, 0);
    for (const HeldLock& lock : held) {
      REQUIRE(lock.owner == HeldLock::Owner::request);
      const MirrorRequest* request = watcher.mirror.request(lock.request);
      REQUIRE(request);
      CHECK_FALSE(request->ended());
      CHECK(lock.since_commit == request->begun_at);
      CHECK(lock.tokens <= request->known);
      ++running;
    }
    for (std::size_t k = 1; k < held.size(); ++k) CHECK(held[k - 1].since_commit <= held[k].since_commit);
    most = std::max(most, running);
  }
  CHECK(most > 1);
  requests.finish();
  engine->poll();
  watcher.look();
  CHECK(held_locks(watcher.mirror, 0).empty());
}

TEST_CASE("locks: a pin has no request, and a lock without an owner comes first") {
  const auto engine = engine_of(yaml(kFull, "default", "token", "{ heap: { events: 65536 } }").c_str());
  Watcher watcher(*engine);
  const auto serve = [&](Token first) {
    const auto prompt = tokens(first, 40);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(40));
    request.finish(40);
  };
  serve(1);
  serve(101);
  engine->poll();
  watcher.look();
  std::vector<std::uint64_t> nodes;
  watcher.mirror.each_node([&](const MirrorNode& node) { nodes.push_back(node.id); });
  REQUIRE(nodes.size() == 2);
  // Events of a lock that nothing releases, and of a pin.
  Mirror mirror = watcher.mirror;
  const auto commit = [&](auto... events) {
    const std::vector<Event> all = {std::bit_cast<Event>(events)...,
                                    std::bit_cast<Event>(event::Commit{.operation = Operation::control})};
    mirror.take(all);
  };
  commit(event::Locked{.node = NodeId{nodes[0]}}, event::Pinned{.pinned = true, .node = NodeId{nodes[0]}});
  auto held = held_locks(mirror, 0);
  REQUIRE(held.size() == 1);
  CHECK(held[0].owner == HeldLock::Owner::pin);
  commit(event::Locked{.node = NodeId{nodes[1]}}, event::Locked{.node = NodeId{nodes[1]}});
  held = held_locks(mirror, 0);
  REQUIRE(held.size() == 2);
  CHECK(held[0].owner == HeldLock::Owner::unexplained);
  CHECK(held[0].node == nodes[1]);
  CHECK(held[0].locks == 2);
  CHECK(held[0].since_commit == mirror.commits());
  commit(event::Unlocked{.node = NodeId{nodes[1]}}, event::Unlocked{.node = NodeId{nodes[1]}});
  CHECK(held_locks(mirror, 0).size() == 1);
}
