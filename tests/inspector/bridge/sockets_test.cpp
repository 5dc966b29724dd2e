/// A publisher over sockets that loses messages and restarts, into a subscription and a follower.
#include <canopy/kv_events/subscription.h>
#include <kv_events/socket.h>
#include <support/folder.h>

#include "followed.h"

using namespace attach_test;
using What = kv_events::Subscription::Received::What;

namespace {

/// A server's two sockets, as vLLM and SGLang have them; `topics`: as releases since 2026 answer replays.
struct Sockets {
  Sockets(const std::string& events, const std::string& replays, bool with_topics)
      : topics(with_topics), publish(opened(zmq::socket_type::xpub)), router(opened(zmq::socket_type::router)) {
    REQUIRE(publish.bind(events));
    REQUIRE(router.bind(replays));
  }
  void say(const Sent& sent) {
    const std::string number = kv_events::sequence_frame(sent.sequence);
    publish.send(std::array<std::string_view, 3>{"kv@pod@model", number, sent.payload});
  }
  void serve(const Server& server) {
    std::vector<std::string> frames;
    while (router.receive(frames)) {
      REQUIRE(frames.size() == 3);
      std::uint64_t from = 0;
      for (const char byte : frames[2]) from = from << 8 | static_cast<std::uint8_t>(byte);
      for (const Sent& sent : server.ring)
        if (sent.sequence >= from) answer(frames[0], kv_events::sequence_frame(sent.sequence), sent.payload);
      answer(frames[0], std::string(8, '\xff'), "");
    }
  }
  void answer(const std::string& identity, const std::string& number, const std::string& payload) {
    std::vector<std::string_view> frames{identity, {}};
    if (topics) frames.push_back("kv@pod@model");
    frames.insert(frames.end(), {number, payload});
    REQUIRE(router.send(frames));
  }

  kv_events::Socket opened(zmq::socket_type type) {
    auto socket = kv_events::Socket::open(context, type, {});
    REQUIRE(socket);
    return std::move(*socket);
  }

  bool topics;
  zmq::context_t context;
  kv_events::Socket publish, router;
};

/// Does one step of `canopy events attach` with a subscription.
void pump(kv_events::Subscription& subscription, Followed& followed, bool& connected) {
  if (const auto received = subscription.next(1)) {
    switch (received->what) {
      case What::message:
        followed.receive({received->message.sequence, std::string(received->message.payload)}, received->replayed);
        break;
      case What::replay_ended:
        followed.follower.replay_ended(0, received->from, followed.now());
        break;
      case What::connected:
        connected = true;
        followed.follower.reconnected(0);
        if (!subscription.is_replaying(0))
          subscription.request_replay(0, followed.follower.wants_replay(0).value_or(0));
        break;
      case What::disconnected:
        connected = false;
        break;
      case What::no_message:
        FAIL(received->flaw);
    }
  }
  if (const auto from = followed.follower.wants_replay(0); from && !subscription.is_replaying(0))
    subscription.request_replay(0, *from);
}

}  // namespace

TEST_CASE("a subscription that loses messages and its server ends in the server's tree, by replay") {
  for (const bool topics : {false, true}) {
    CAPTURE(topics);
    const canopy::test::Folder folder;
    const std::string events = "ipc://" + folder.at("events"), replays = "ipc://" + folder.at("replay");
    auto opened = kv_events::Subscription::open({{events, replays}});
    REQUIRE(opened);
    Followed followed(true);
    Server server(7, 0);
    std::mt19937_64 random(7);
    bool connected = false;
    for (int life = 0; life < 2; ++life) {
      Sockets its(events, replays, topics);
      const auto until = [&](auto&& fact) {
        for (int i = 0; i < 20'000 && !fact(); ++i) its.serve(server), pump(**opened, followed, connected);
        return fact();
      };
      REQUIRE(until([&] { return connected; }));
      for (int step = 0; step < 60; ++step) {
        server.act();
        if (random() % 4 != 0) its.say(server.ring.back());  // the others are lost
        its.serve(server);
        pump(**opened, followed, connected);
      }
      server.act();
      its.say(server.ring.back());
      CHECK(until([&] { return !(*opened)->is_replaying(0) && followed.tree() == server.tree(); }));
      check_same(followed, server);
      if (life == 1) break;
      CHECK(followed.follower.counts_of(0).gaps > 0);
      server.restart();
    }
    CHECK(followed.follower.counts_of(0).restarts == 1);
    CHECK(followed.follower.counts_of(0).missing == 0);
    CHECK(followed.follower.names().workers() == 1);  // replayed messages without a topic are the same server's
  }
}

TEST_CASE("an endpoint that cannot be connected to is said, and a silent replay socket ends") {
  CHECK(!kv_events::Subscription::open({{"tcp://127.0.0.1:notaport", ""}}));
  auto opened = kv_events::Subscription::open({{"ipc:///tmp/canopy-attach-nobody", "ipc:///tmp/canopy-attach-silent"}});
  REQUIRE(opened);
  (*opened)->request_replay(0, 7);
  std::optional<kv_events::Subscription::Received> received;
  for (int i = 0; i < 10'000 && !received; ++i) received = (*opened)->next(10);
  REQUIRE(received);
  CHECK(received->what == What::replay_ended);
  CHECK(received->silent);
  CHECK(received->from == 7);  // the sequence of the request without an answer
  CHECK(!(*opened)->is_connected(0));
}
