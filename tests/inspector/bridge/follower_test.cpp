/// A follower behind a stream that drops, repeats, reorders and restarts, held to a plain map.
#include "followed.h"

using namespace attach_test;

TEST_CASE("each batch of a stream leaves the tree that a plain map has") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Server server(seed, 0);
    Followed followed(false);
    for (std::size_t received = 0, step = 0; step < 120; ++step) {
      server.act();
      for (; received < server.ring.size(); ++received) followed.receive(server.ring[received], false);
      check_same(followed, server);
    }
  }
}

TEST_CASE("a reader is sent the whole tree, whether it comes before the first turn or after a hundred") {
  for (const bool turns : {false, true}) {
    CAPTURE(turns);
    Server server(11, 0);
    Followed followed(false);
    Follower& follower = followed.follower;
    std::uint64_t now = 0;
    for (int step = 0; step < 100; ++step) {
      server.act();
      follower.take(0, {"topic", server.ring.back().sequence, server.ring.back().payload, false}, false, ++now);
      if (turns) follower.turn(now);
    }
    REQUIRE(follower.has_feed());
    canopy::FeedHeader& header = follower.sink().writer().header();
    canopy::FeedReader reader(header);
    Mirror mirror(header);
    follower.turn(now + 2'000'000);
    std::vector<canopy::Event> events(1 << 16);
    std::size_t count = 0;
    REQUIRE(reader.read(events.data(), events.size(), count) == canopy::FeedReader::Outcome::events);
    mirror.take({events.data(), count});
    CHECK(mirror.in_step());
    CHECK(mirror.node_count() == runs_of(server.tree()));
    CHECK(mirror.node_count() > 0);
  }
}

TEST_CASE("a stream that drops, repeats, reorders, restarts and is joined late ends in the same tree after replay") {
  std::uint64_t repaired = 0, restarts = 0, before = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Server server(seed, 0);
    Followed followed(true);
    std::vector<Sent> way;  // sent, not yet received
    std::size_t sent = 0;
    const std::size_t joins_at = random() % 2 * (random() % 40);
    for (std::size_t step = 0; step < 120; ++step) {
      if (random() % 60 == 0) {
        server.restart();
        sent = 0;
        followed.follower.reconnected(0);
      } else {
        server.act();
      }
      for (; sent < server.ring.size(); ++sent) {
        if (step < joins_at || random() % 10 == 0) continue;
        way.push_back(server.ring[sent]);
        if (random() % 10 == 0) way.push_back(server.ring[sent]);
      }
      if (random() % 8 == 0) std::shuffle(way.begin(), way.end(), random);
      while (way.size() > random() % 6) {
        followed.receive(way.front(), false);
        way.erase(way.begin());
      }
      if (random() % 15 == 0 || followed.follower.wants_replay(0).value_or(1) == 0) followed.replay(server);
    }
    server.act();
    way.push_back(server.ring.back());
    for (const Sent& last : way) followed.receive(last, false);
    for (int rounds = 0; rounds == 0 || (followed.follower.wants_replay(0) && rounds < 5); ++rounds)
      followed.replay(server);
    check_same(followed, server);
    const auto& counts = followed.follower.counts_of(0);
    repaired += counts.repaired, restarts += counts.restarts, before += counts.before;
  }
  // The faults happened, and were reported.
  CHECK(repaired > 1000);
  CHECK(restarts > 100);
}

TEST_CASE("a restart that only a replay shows is followed by a replay of the new run") {
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t messages = 8 + i / 2;
    const bool receives_one = i % 2 == 0;
    CAPTURE(messages);
    CAPTURE(receives_one);
    Server server(5, 0);
    Followed followed(true);
    for (int acts = 0; acts < 9; ++acts) server.act();
    for (const Sent& sent : server.ring) followed.receive(sent, false);
    check_same(followed, server);
    // All of the new run but its last message is missed, which has any number.
    server.restart();
    while (server.ring.size() < messages) server.act();
    followed.follower.reconnected(0);
    if (receives_one) followed.receive(server.ring.back(), false);
    for (int rounds = 0; followed.follower.wants_replay(0) && rounds < 5; ++rounds) followed.replay(server);
    server.act();
    followed.receive(server.ring.back(), false);
    for (int rounds = 0; followed.follower.wants_replay(0) && rounds < 5; ++rounds) followed.replay(server);
    check_same(followed, server);
    CHECK(followed.follower.counts_of(0).restarts == 1);
  }
}

TEST_CASE("what is lost while a replay is under way is asked for again") {
  Server server(3, 0);
  Followed followed(true);
  const auto say = [&] {
    server.act();
    followed.receive(server.ring.back(), false);
  };
  say();
  server.act();  // lost
  say();
  const auto from = followed.follower.wants_replay(0);
  REQUIRE(from);
  for (const Sent& sent : server.ring)
    if (sent.sequence >= *from) followed.receive(sent, true);
  server.act();  // lost, and sent after the replay
  say();
  followed.follower.replay_ended(0, *from, followed.now());
  REQUIRE(followed.follower.wants_replay(0));
  followed.replay(server);
  CHECK_FALSE(followed.follower.wants_replay(0));
  check_same(followed, server);
  CHECK(followed.follower.counts_of(0).missing == 0);
}
