/// A publisher of KV events, its engine, and real subscribers: all in one process, over ipc:// and 127.0.0.1.
#include <canopy/kv_events/in_order.h>
#include <canopy/kv_events/kv_publisher.h>
#include <canopy/kv_events/stream.h>
#include <conformance/model/effort.h>
#include <kv_events/replay_desk.h>
#include <kv_events/socket.h>
#include <program/mismatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <support/engines.h>
#include <support/forked_child.h>
#include <support/random_requests.h>
#include <support/refused_memory.h>
#include <support/sanitizers.h>
#include "event_tree.h"

using namespace canopy;
using namespace canopy::test;
using kv_events::KVPublisher;
using kv_events::TreeQueue;

namespace {

std::string endpoint_of(const char* name) {
  return "ipc://" + (std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))).string();
}

KVEventsConfig config_of(std::string publish, std::string replay = {}) {
  KVEventsConfig config;
  config.on = true;
  config.publish = std::move(publish), config.replay = std::move(replay), config.topic = "kv@pod-1@llama";
  return config;
}

std::unique_ptr<KVPublisher> publisher_of(const KVEventsConfig& config) {
  auto publisher = KVPublisher::open(config, TreeQueue::WhenFull::wait);
  REQUIRE_MESSAGE(publisher, (publisher ? "" : publisher.error().text));
  return std::move(*publisher);
}

/// A SUB or a DEALER, as routers have them.
class Client {
 public:
  Client(zmq::socket_type kind, const std::string& endpoint, int most_waiting = 100'000)
      : socket_(std::move(*kv_events::Socket::open(context_, kind, {most_waiting, most_waiting, 0}))) {
    REQUIRE(socket_.connect(endpoint));
    if (kind == zmq::socket_type::sub) socket_.subscribe("kv@");
  }
  /// The next message; false after ten seconds without one.
  bool next(kv_events::Message& message) {
    if (!socket_.wait(10'000) || !socket_.receive(frames_)) return false;
    views_.assign(frames_.begin(), frames_.end());
    const auto read = kv_events::message_of(views_);
    REQUIRE(read);
    message = *read;
    return true;
  }
  /// libzmq subscribes again after a reconnection when the socket is looked at.
  void look() { socket_.wait(1); }
  void ask(std::uint64_t sequence) {
    std::string start(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) start[i] = static_cast<char>(sequence >> (56 - 8 * i));
    const std::vector<std::string_view> frames{{}, start};
    REQUIRE(socket_.send(frames));
  }
  const std::vector<std::string>& frames() const { return frames_; }

 private:
  zmq::context_t context_;
  kv_events::Socket socket_;
  std::vector<std::string> frames_;
  std::vector<std::string_view> views_;
};

/// A subscriber with the tree that it knows from events.
struct Subscriber {
  Client live;
  EventTree tree;
  kv_events::InOrder in_order;
  std::uint64_t seen = 0;  ///< messages
  kv_events::EventBatch batch;

  explicit Subscriber(const std::string& endpoint) : live(zmq::socket_type::sub, endpoint) {}
  void take_until(std::uint64_t messages) {
    for (kv_events::Message message; seen < messages; ++seen) {
      REQUIRE(live.next(message));
      CHECK(message.topic == "kv@pod-1@llama");
      REQUIRE(message.sequence == seen);
      REQUIRE(kv_events::read_batch(message.payload, batch));
      tree.take(batch);
    }
  }
};

/// Waits until so many subscribers are connected: none of them misses a batch.
void await_subscribers(const KVPublisher& publisher, std::uint64_t count) {
  for (int tries = 0; publisher.figures().subscribers < count && tries < 10'000; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(publisher.figures().subscribers >= count);
}

}  // namespace

TEST_CASE("sockets: one that only sends receives nothing, and one that only receives sends nothing") {
  zmq::context_t context;
  std::vector<std::string> frames;
  const std::vector<std::string_view> message = {"x"};
  CHECK_FALSE(kv_events::Socket::open(context, zmq::socket_type::pub, {})->receive(frames));
  CHECK_FALSE(kv_events::Socket::open(context, zmq::socket_type::sub, {})->send(message));
}

TEST_CASE("a subscriber's tree is the engine's after random requests, in every form") {
  struct Form {
    const char* groups;
    const char* key;
    KVEventsConfig::Dialect dialect;
    KVEventsConfig::Hashes hashes;
    const char* written_as;
    const char* index = "radix";
  };
  using Dialect = KVEventsConfig::Dialect;
  using Hashes = KVEventsConfig::Hashes;
  const Form forms[] = {{"full", "token", Dialect::maps, Hashes::sglang, "M2"},
                        {"full window", "token", Dialect::arrays, Hashes::vllm, "A3"},
                        {"full state", "token", Dialect::maps, Hashes::vllm, "M1"},
                        {"full window", "bigram", Dialect::maps, Hashes::sglang, "M2"},
                        {"full", "token", Dialect::maps, Hashes::vllm, "M1", "hash_chain"}};
  std::uint64_t seed = 0;
  for (const Form& form : forms) {
    CAPTURE(form.groups);
    CAPTURE(form.written_as);
    std::string yaml =
        fmt::format("page_size: 4\nkey: {}\nindex: {}\nsegment_pages: 7\ngroups:\n", form.key, form.index);
    std::istringstream groups(form.groups);
    for (std::string group; groups >> group;)
      yaml +=
          fmt::format("  {}: {{ reach: {}, capacity: 1200, start: 36, allocator: free_list, eviction: lru }}\n", group,
                      group == "full"     ? "path"
                      : group == "window" ? "11"
                                          : "1, every: 12");
    KVEventsConfig config = config_of(endpoint_of("canopy-tree"));
    config.dialect = form.dialect, config.hashes = form.hashes;
    const auto publisher = publisher_of(config);
    Subscriber subscriber(publisher->published_at());
    await_subscribers(*publisher, 1);
    const auto engine = engine_of(yaml, {}, &publisher->listener());
    RandomRequests requests(*engine, plugins(), ++seed, 3, true, true);
    const bool sglang = form.hashes == Hashes::sglang;
    const bool one_group = sglang && form.dialect == Dialect::maps;
    std::size_t most = 0;
    for (int round = 0; round < 12; ++round) {
      try {
        requests.run(std::max<std::uint64_t>(600, with_effort(1'500)));
      } catch (const Mismatch& difference) {
        FAIL(std::string(difference.what()));
      }
      publisher->flush();
      subscriber.take_until(publisher->figures().batches);
      const IndexTree index(*engine, sglang, one_group ? 1 : engine->groups());
      CHECK(subscriber.tree.blocks == index.tree.blocks);
      most = std::max(most, index.tree.blocks.size());
    }
    requests.finish();
    CHECK(most > 100);
    CHECK(requests.reached().evictions > 0);
    CHECK(requests.reached().flushed > 0);
    CHECK(publisher->figures().losses == 0);
    CHECK(publisher->figures().removed > 100);
    CHECK(kv_events::dialect_of(subscriber.batch) != "A1");
    // vLLM's classes refuse a stored event without lora_name.
    for (const kv_events::Event& event : subscriber.batch.events)
      if (event.kind == kv_events::EventKind::stored && std::string(form.written_as) == "M1")
        CHECK(event.is_present(kv_events::Field::lora_name));
  }
}

TEST_CASE("events change no decision") {
  const auto publisher = publisher_of(config_of("tcp://127.0.0.1:*"));
  const auto published = engine_of(kSmall, {}, &publisher->listener()), alone = engine_of(kSmall);
  CHECK(published->feed() == nullptr);
  CHECK(publisher->figures().stored == 0);
  CHECK(publisher->figures().removed == 0);
  for (Engine* engine : {published.get(), alone.get()}) {
    RandomRequests requests(*engine, plugins(), 7, 2);
    requests.run(5'000);
    requests.finish();
  }
  CHECK(published->digest() == alone->digest());
  publisher->flush();
  CHECK(publisher->figures().stored > 500);
}

TEST_CASE("what a subscriber missed is answered for, in order, with the topic, and then comes the end") {
  const auto publisher = publisher_of(config_of(endpoint_of("canopy-gap"), "tcp://127.0.0.1:*"));
  const auto engine = engine_of(kSmall, {"groups.full.capacity=4000"}, &publisher->listener());
  for (Token i = 0; i < 40; ++i) {
    const auto prompt = tokens(i * 1'000, 41);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(41));
    request.finish(41);
    publisher->flush();  // a batch each
  }
  // A subscriber that comes now has seen nothing.
  Client replay(zmq::socket_type::dealer, publisher->replayed_at());
  EventTree tree;
  for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{30}, std::uint64_t{1'000'000}}) {
    replay.ask(from);
    kv_events::Message message;
    std::uint64_t next = from;
    for (;;) {
      REQUIRE(replay.next(message));
      CHECK(replay.frames().size() == 4);  // an empty one, topic, sequence, batch
      CHECK(replay.frames()[0].empty());
      if (message.is_end) break;
      CHECK(message.topic == "kv@pod-1@llama");
      CHECK(message.sequence == next++);
      kv_events::EventBatch batch;
      REQUIRE(kv_events::read_batch(message.payload, batch));
      if (from == 0) tree.take(batch);
    }
    CHECK(next == std::max(from, publisher->figures().batches));
  }
  CHECK(publisher->figures().batches >= 41);
  CHECK(tree.blocks == IndexTree(*engine, true, 1).tree.blocks);
  CHECK(tree.blocks.size() == 400);
}

TEST_CASE("a prompt that fills the index is sent whole") {
  const auto publisher = publisher_of(config_of("tcp://127.0.0.1:*"));
  Subscriber subscriber(publisher->published_at());
  await_subscribers(*publisher, 1);
  constexpr std::uint32_t kTokens = 200'000;  // their words are more than half of the least queue
  const auto engine = engine_of(
      "page_size: 1000\nindex: radix\n"
      "groups:\n  full: { reach: path, capacity: 200000, allocator: free_list, eviction: lru }\n",
      {}, &publisher->listener());
  Request request = engine->begin(arrival(tokens(1, kTokens)));
  REQUIRE(request.reserve(kTokens));
  request.finish(kTokens);
  publisher->flush();
  subscriber.take_until(publisher->figures().batches);
  CHECK(publisher->figures().losses == 0);
  CHECK(subscriber.tree.blocks == IndexTree(*engine, true, 1).tree.blocks);
  CHECK(subscriber.tree.blocks.size() == 200);
}

TEST_CASE("a loss is sent as one clear, and then everything again") {
  const auto publisher = KVPublisher::open(config_of("tcp://127.0.0.1:*"), TreeQueue::WhenFull::drop);
  REQUIRE(publisher);
  Subscriber subscriber((*publisher)->published_at());
  await_subscribers(**publisher, 1);
  // An index by hand, whose queue is 1 MiB.
  TreeListener& listener = (*publisher)->listener();
  TreeListener::Facts facts;
  facts.shape.page_size = 4, facts.shape.groups = 1, facts.shape.reaches[0] = kWholePath;
  facts.words = 1'000;
  REQUIRE(listener.begin(facts).empty());
  const std::vector<std::uint32_t> words{1, 2, 3, 4};
  const event::NodeAdded node{.resident = 1, .space = NamespaceId::shared, .node = NodeId{1}, .length = 4};
  listener.added(node, words.data());
  CHECK_FALSE(listener.turn());
  (*publisher)->flush();
  subscriber.take_until(2);
  CHECK(subscriber.tree.blocks.size() == 1);
  const std::vector<std::uint32_t> too_many(150'000);
  listener.added({.resident = 1, .node = NodeId{2}, .length = 150'000}, too_many.data());  // does not fit
  bool wants_all = listener.turn();
  for (int tries = 0; !wants_all && tries < 10'000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wants_all = listener.turn();
  }
  REQUIRE(wants_all);
  listener.resync();
  listener.added(node, words.data());
  CHECK_FALSE(listener.turn());
  (*publisher)->flush();
  subscriber.take_until(4);
  CHECK(subscriber.tree.clears == 2);
  CHECK(subscriber.tree.blocks.size() == 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // some rounds of the publisher
  CHECK((*publisher)->figures().batches == 4);
  CHECK((*publisher)->figures().losses == 1);
}

TEST_CASE("a publisher whose thread is refused memory sends everything again, under the next numbers") {
  if (kThreadSanitizer) {
    MESSAGE("SKIPPED: with the thread sanitizer its own operators of memory are used");
    return;
  }
  const auto publisher = publisher_of(config_of(endpoint_of("canopy-scarce"), "tcp://127.0.0.1:*"));
  Subscriber subscriber(publisher->published_at());
  await_subscribers(*publisher, 1);
  const auto engine = engine_of(kSmall, {"groups.full.capacity=4000"}, &publisher->listener());
  RandomRequests requests(*engine, plugins(), 3, 2);
  long refused = 0;
  for (long first = 0; first < 160; ++first) {
    RefusedMemory::refuse_others(first % 8);
    requests.run(40);
    publisher->flush();
    refused += RefusedMemory::stop_others();
    bool same = false;
    for (int tries = 0; !same && tries < 10'000; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the thread looks at times
      requests.run(1);  // in which the engine sees that everything is lost, or sends it again
      publisher->flush();
      subscriber.take_until(publisher->figures().batches);
      same = subscriber.tree.blocks == IndexTree(*engine, true, 1).tree.blocks;
    }
    CHECK(same);
  }
  CHECK(refused > 20);
  CHECK(publisher->figures().losses > 10);
  requests.finish();
}

TEST_CASE("the replay endpoint keeps the newest 10,000 batches under their own numbers") {
  zmq::context_t context;
  auto router = kv_events::Socket::open(context, zmq::socket_type::router, {100'000, 100'000, 0});
  REQUIRE(router);
  const auto bound = router->bind("tcp://127.0.0.1:*");
  REQUIRE(bound);
  kv_events::ReplayDesk desk("kv@");
  for (std::uint64_t sequence = 0; sequence < 10'005; ++sequence) desk.keep(sequence, std::to_string(sequence));
  CHECK(desk.kept() == 10'000);
  Client client(zmq::socket_type::dealer, *bound);
  client.ask(0);
  for (int tries = 0; desk.replayed() < 10'000 && tries < 10'000; ++tries)
    if (!desk.serve(*router)) router->wait(1);
  kv_events::Message message;
  for (std::uint64_t sequence = 5; sequence < 10'005; ++sequence) {
    REQUIRE(client.next(message));
    REQUIRE(message.sequence == sequence);
    REQUIRE(message.payload == std::to_string(sequence));
  }
}

TEST_CASE("a client that asks again and again and takes nothing leaves room for the others") {
  zmq::context_t context;
  auto router = kv_events::Socket::open(context, zmq::socket_type::router, {10, 100'000, 0});
  REQUIRE(router);
  const auto bound = router->bind("tcp://127.0.0.1:*");
  REQUIRE(bound);
  kv_events::ReplayDesk desk("kv@");
  const std::string batch(100'000, 'x');  // more of them than the sockets between keep
  for (std::uint64_t sequence = 0; sequence < 600; ++sequence) desk.keep(sequence, batch);
  Client stuck(zmq::socket_type::dealer, *bound, 1);
  for (int i = 0; i < 100; ++i) {
    stuck.ask(0);
    for (int tries = 0; tries < 20; ++tries)
      if (!desk.serve(*router)) router->wait(1);
  }
  Client client(zmq::socket_type::dealer, *bound);
  client.ask(598);
  for (int tries = 0; tries < 200; ++tries)
    if (!desk.serve(*router)) router->wait(1);
  kv_events::Message message;
  for (const std::uint64_t sequence : {598U, 599U}) {
    REQUIRE(client.next(message));
    CHECK(message.sequence == sequence);
  }
  REQUIRE(client.next(message));
  CHECK(message.is_end);
}

TEST_CASE("a client whose message is longer than any request loses its connection") {
  const auto publisher = publisher_of(config_of(endpoint_of("canopy-long"), "tcp://127.0.0.1:*"));
  const std::string longest(5'000, 'x');
  for (const auto& [kind, endpoint] : {std::pair(zmq::socket_type::dealer, publisher->replayed_at()),
                                       {zmq::socket_type::sub, publisher->published_at()}}) {
    zmq::context_t context;
    auto socket = kv_events::Socket::open(context, kind, {});
    REQUIRE(socket);
    auto changes = socket->watch(context);
    REQUIRE(changes);
    REQUIRE(socket->connect(endpoint));
    const auto becomes = [&](kv_events::Socket::Change wanted) {
      for (int tries = 0; tries < 1'000; ++tries) {
        if (changes->wait(10) && changes->next_change() == wanted) return true;
        if (kind == zmq::socket_type::sub) socket->wait(1);
      }
      return false;
    };
    CHECK(becomes(kv_events::Socket::Change::connected));
    if (kind == zmq::socket_type::sub) socket->subscribe(longest);
    else CHECK(socket->send(std::vector<std::string_view>{{}, longest}));
    CHECK(becomes(kv_events::Socket::Change::lost));
  }
}

TEST_CASE("a subscriber that takes nothing costs the others nothing, and no memory without end") {
  const auto publisher = publisher_of(config_of(endpoint_of("canopy-stuck"), "tcp://127.0.0.1:*"));
  const Client stuck(zmq::socket_type::sub, publisher->published_at(), 1);
  const Client stuck_replay(zmq::socket_type::dealer, publisher->replayed_at(), 1);
  const_cast<Client&>(stuck_replay).ask(0);
  Subscriber subscriber(publisher->published_at());
  await_subscribers(*publisher, 2);
  const auto engine = engine_of(kSmall, {"groups.full.capacity=20000", "store=none"}, &publisher->listener());
  std::vector<Token> prompt(8'001);
  for (Token i = 0; i < 600; ++i) {
    std::iota(prompt.begin(), prompt.end(), i * 10'000);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(8'001));
    request.finish(8'001);
    publisher->flush();
    subscriber.take_until(publisher->figures().batches);
  }
  CHECK(subscriber.tree.blocks == IndexTree(*engine, true, 1).tree.blocks);
  const KVPublisher::Figures figures = publisher->figures();
  CHECK(figures.losses == 0);
  CHECK(figures.kept_bytes <= 64U << 20);
  CHECK(figures.kept <= 10'000);
}

TEST_CASE("a restart is sent as a clear at sequence 0") {
  const std::string endpoint = endpoint_of("canopy-restart");
  Subscriber subscriber(endpoint);
  std::uint64_t clears = 0;
  for (int life = 0; life < 2; ++life) {
    const auto publisher = publisher_of(config_of(endpoint));
    for (int tries = 0; publisher->figures().subscribers == 0 && tries < 10'000; ++tries) subscriber.live.look();
    const auto engine = engine_of(kSmall, {}, &publisher->listener());
    const auto prompt = tokens(static_cast<Token>(100 * life), 17);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(17));
    request.finish(17);
    publisher->flush();
    kv_events::Message message;
    for (std::uint64_t i = 0; i < publisher->figures().batches; ++i) {
      REQUIRE(subscriber.live.next(message));
      REQUIRE(kv_events::read_batch(message.payload, subscriber.batch));
      const bool cleared = subscriber.batch.events[0].kind == kv_events::EventKind::cleared;
      const kv_events::Order order =
          subscriber.in_order.take({message.sequence, subscriber.batch.time, cleared, false}, {}, false).order;
      CHECK(cleared == (i == 0));
      CHECK(order == (i > 0       ? kv_events::Order::next
                      : life == 0 ? kv_events::Order::first
                                  : kv_events::Order::restart));
      subscriber.tree.take(subscriber.batch);
      clears += cleared;
    }
    CHECK(subscriber.tree.blocks == IndexTree(*engine, true, 1).tree.blocks);
    CHECK(subscriber.tree.blocks.size() == 4);
  }
  CHECK(clears == 2);
}

TEST_CASE("an endpoint that cannot be used is named, and no file is lost to it") {
  const auto first = publisher_of(config_of("tcp://127.0.0.1:*"));
  const auto why = [](const KVEventsConfig& config) {
    const auto publisher = KVPublisher::open(config, TreeQueue::WhenFull::drop);
    return publisher ? std::string() : publisher.error().text;
  };
  CHECK(why(config_of(first->published_at())) ==
        "events.zmq.publish: " + first->published_at() + ": Address already in use");
  const std::string at = endpoint_of("canopy-file"), path = at.substr(6);
  std::ofstream(path) << "an engine's file";
  CHECK(why(config_of(at)) == "events.zmq.publish: '" + path + "' is a file; expected a path that does not exist");
  CHECK(std::filesystem::file_size(path) == 16);
  std::filesystem::remove(path);
  {
    const auto second = publisher_of(config_of(at));
    CHECK(why(config_of(at)) == "events.zmq.publish: another process listens at '" + path + "'");
    CHECK(why(config_of("tcp://127.0.0.1:*", at)) == "events.zmq.replay: another process listens at '" + path + "'");
  }
  CHECK(why(config_of(at)) == "");
}

TEST_CASE("a forked child leaves the publisher to its parent, and keeps none of its sockets") {
  for (const std::string& endpoint : {endpoint_of("canopy-fork"), std::string("tcp://127.0.0.1:*")}) {
    CAPTURE(endpoint);
    auto publisher = publisher_of(config_of(endpoint));
    const std::string bound = publisher->published_at();
    Subscriber subscriber(bound);
    await_subscribers(*publisher, 1);
    auto engine = engine_of(kSmall, {}, &publisher->listener());
    std::optional<RandomRequests> requests(std::in_place, *engine, plugins(), 7, 2);
    requests->run(500);
    publisher->flush();
    const std::uint64_t batches = publisher->figures().batches;
    CHECK(true_in_child([&] {
      requests->run(3'000);
      publisher->flush();
      requests.reset(), engine.reset(), publisher.reset();
      return true;
    }));
    CHECK(publisher->figures().batches == batches);
    requests->run(500);
    publisher->flush();
    subscriber.take_until(publisher->figures().batches);
    CHECK(subscriber.tree.blocks == IndexTree(*engine, true, 1).tree.blocks);

    // Nor does a child that lives on keep the endpoint.
    const pid_t sleeper = ::fork();
    if (sleeper == 0) {
      ::alarm(60);
      for (;;) ::pause();
    }
    requests.reset(), engine.reset(), publisher.reset();
    const auto opens = [&] {
      return static_cast<bool>(KVPublisher::open(config_of(bound), TreeQueue::WhenFull::drop));
    };
    bool opened = opens();
    for (int tries = 0; !opened && tries < 500; ++tries) {  // the child may be slow
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      opened = opens();
    }
    CHECK(opened);
    ::kill(sleeper, SIGKILL);
    ::waitpid(sleeper, nullptr, 0);
  }
}
