/// `canopy serve` over websockets: hello, events, slow pages, commands, and an engine that ends and comes back.
#include <canopy/feed/sink.h>
#include <support/engines.h>
#include <support/random_requests.h>

#include <fstream>
#include <random>

#include "served.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;
using namespace std::chrono_literals;
using protocol::Serves;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The code with which the server closes a websocket; 0 if it ends without one.
int close_code(WebClient& client) {
  while (const auto frame = client.next())
    if (frame->opcode == 8) return frame->close_code();
  return 0;
}

/// A feed in this process whose events a test writes.
struct OwnFeed {
  explicit OwnFeed(bool controls = false) {
    FeedConfig config;
    config.kind = FeedConfig::Kind::heap, config.events = std::uint64_t{1} << 21, config.controls = controls;
    FeedShape shape;
    shape.page_size = 16, shape.groups = 2;
    auto opened = FeedSink::open(config, shape);
    REQUIRE(opened);
    sink = std::move(*opened);
  }
  FeedHeader& header() { return sink->writer().header(); }
  std::uint64_t readers() { return desk_behind(header()).readers.load(); }
  std::uint64_t wanted() { return desk_behind(header()).keyframes_wanted.load(); }
  void operation(std::size_t events, bool keyframe = false) {
    FeedWriter& writer = sink->writer();
    if (keyframe) writer.push(event::Keyframe{});
    for (std::size_t i = 0; i < events; ++i) writer.push(event::StorageHealth{});
    writer.push(event::Commit{.operations = ++operations});
    writer.publish();
  }
  Served served(bool controls = false) { return {.kind = Serves::demo, .demo = &header(), .controls = controls}; }

  std::unique_ptr<FeedSink> sink;
  std::uint64_t operations = 0;
};

std::string engine_file(const std::string& feed) {
  return "page_size: 4\ngroups:\n"
         "  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n"
         "  window: { reach: 10, capacity: 400, allocator: free_list, eviction: lru }\n"
         "store: { host: { streams: { kv: 8 } } }\nfeed: " +
         feed + "\n";
}

/// Takes what a reader has.
void follow(FeedReader& reader, Mirror& mirror) {
  std::vector<Event> events(4096);
  for (;;) {
    std::size_t count = 0;
    const auto outcome = reader.read(events.data(), events.size(), count);
    if (outcome == FeedReader::Outcome::nothing) return;
    REQUIRE(outcome == FeedReader::Outcome::events);
    mirror.take({events.data(), count});
  }
}

/// Both mirrors show the same engine.
void check_equal(const Mirror& one, const Mirror& other) {
  CHECK(one.in_step());
  CHECK(one.drift() == 0);
  CHECK(one.damaged() == 0);
  CHECK(one.tick() == other.tick());
  CHECK(one.node_count() == other.node_count());
  CHECK(one.running() == other.running());
  for (std::size_t g = 0; g < one.groups(); ++g) {
    CHECK(one.pool(g).counted.free == other.pool(g).counted.free);
    CHECK(one.pool(g).counted.evictable == other.pool(g).counted.evictable);
    CHECK(one.pool(g).counted.protected_ == other.pool(g).counted.protected_);
  }
  std::size_t same = 0;
  one.each_node([&](const MirrorNode& node) { same += other.find(node.id) != nullptr; });
  CHECK(same == one.node_count());
}

}  // namespace

TEST_CASE("serve: only the token opens the feed, and in time") {
  OwnFeed feed;
  WebSettings settings;
  settings.limits.hello = 200ms;
  const ServedPage served(feed.served(), settings);
  const auto closed_after = [&](const std::string& text) {
    WebClient client(served.port());
    REQUIRE(client.upgrade() == 101);
    if (!text.empty()) client.say(text);
    return close_code(client);
  };
  for (const std::string& wrong :
       {std::string("hello"), std::string("hello "), "hello " + kToken + "0", "hello " + kToken.substr(1), kToken,
        "Hello " + kToken, std::string("attach demo"), "hello " + std::string(32, '0'), std::string()})
    CHECK_MESSAGE(closed_after(wrong) == 1008, wrong);
  WebClient command(served.port());
  REQUIRE(command.upgrade() == 101);
  command.send(Command{});
  CHECK(close_code(command) == 1008);
  CHECK(feed.readers() == 0);

  TestPage page(served.port());
  CHECK(page.text_with("serves") == R"({"serves":"demo","name":"demo","controls":false,"version":"canopy test"})");
  CHECK(page.text_with("attached") == R"({"attached":"demo"})");
  CHECK(feed.readers() == 1);
  std::this_thread::sleep_for(300ms);
  page.client.say("attach other");
  CHECK(has(page.text_with("error"), "this server serves only one thing"));
}

TEST_CASE("serve: pages see what a reader of the feed sees, whenever they join, through one reader") {
  const auto engine = engine_of(engine_file("{ heap: { events: 65536, tokens: true } }"));
  FeedHeader& header = engine->feed()->writer().header();
  FeedReader reader(header);
  Mirror direct(header);
  RandomRequests requests(*engine, plugins(), 5, 2);
  requests.run(50);
  follow(reader, direct);

  const ServedPage served({.kind = Serves::demo, .demo = &header});
  const auto in_step = [&](TestPage& page) {
    return page.until([&] {
      engine->poll();
      return page.mirror && page.mirror->in_step();
    });
  };
  const auto step = [&](TestPage& page) {
    // A message comes for each operation, so the page can wait for the last one.
    return page.until([&] { return page.mirror->tick() == direct.tick() && page.mirror->us() == direct.us(); });
  };
  TestPage early(served.port());
  REQUIRE_FALSE(early.text_with("attached").empty());
  engine->poll();
  REQUIRE(in_step(early));
  CHECK(is<event::Keyframe>(early.first[0]));
  CHECK(early.mirror->has_words());
  for (int round = 0; round < 20; ++round) {
    requests.run(10);
    engine->poll();
    follow(reader, direct);
    REQUIRE(step(early));
    check_equal(*early.mirror, direct);
  }
  // Another page joins. The first one gets no keyframe a second time.
  TestPage late(served.port());
  REQUIRE_FALSE(late.text_with("attached").empty());
  const auto until = std::chrono::steady_clock::now() + 8s;
  const std::uint64_t before = desk_behind(header).keyframes_wanted.load();
  while (desk_behind(header).keyframes_wanted.load() == before && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  engine->poll();
  REQUIRE(in_step(late));
  CHECK(is<event::Keyframe>(late.first[0]));
  for (int round = 0; round < 20; ++round) {
    requests.run(10);
    engine->poll();
    follow(reader, direct);
    REQUIRE(step(early));
    REQUIRE(step(late));
    check_equal(*early.mirror, direct);
    check_equal(*late.mirror, direct);
  }
  CHECK(early.keyframes == 1);
  CHECK(late.keyframes == 1);
  CHECK(desk_behind(header).readers.load() == 2);  // the server's, and that of this test
}

TEST_CASE("serve: one reader for all pages, keyframes once a second, and none when no page watches") {
  OwnFeed feed;
  WebSettings settings;
  settings.limits.keyframe_each = 400ms;
  const ServedPage served(feed.served(), settings);
  CHECK(feed.readers() == 0);
  {
    TestPage one(served.port());
    REQUIRE_FALSE(one.text_with("attached").empty());
    CHECK(feed.readers() == 1);
    CHECK(feed.wanted() == 1);
    feed.operation(3);  // not for a page that has no keyframe
    feed.operation(5, true);
    REQUIRE(one.until([&] { return one.keyframes == 1; }));
    CHECK(one.bytes == 7 * sizeof(Event));

    std::vector<std::unique_ptr<TestPage>> more;
    for (int i = 0; i < 10; ++i) more.push_back(std::make_unique<TestPage>(served.port()));
    for (const auto& page : more) REQUIRE_FALSE(page->text_with("attached").empty());
    CHECK(feed.readers() == 1);
    REQUIRE(soon([&] { return feed.wanted() == 2; }));
    // A page that joins before the keyframe has come needs no other.
    TestPage last(served.port());
    REQUIRE_FALSE(last.text_with("attached").empty());
    std::this_thread::sleep_for(500ms);
    CHECK(feed.wanted() == 2);
    feed.operation(100'000, true);  // more than one message holds
    feed.operation(1);
    for (const auto& page : more) REQUIRE(page->until([&] { return page->bytes == 100'004 * sizeof(Event); }));
    REQUIRE(last.until([&] { return last.bytes == 100'004 * sizeof(Event); }));
    REQUIRE(one.until([&] { return one.bytes == 9 * sizeof(Event); }));
    CHECK(one.keyframes == 1);
    CHECK(feed.readers() == 1);
  }
  CHECK(soon([&] { return feed.readers() == 0; }));
  TestPage again(served.port());
  REQUIRE_FALSE(again.text_with("attached").empty());
  CHECK(feed.readers() == 1);
  CHECK(feed.wanted() == 3);
}

TEST_CASE("serve: a page that does not read loses events, and no other does") {
  OwnFeed feed;
  WebSettings settings;
  settings.limits.keyframe_each = 20ms;
  const ServedPage served(feed.served(), settings);
  TestPage good(served.port()), stuck(served.port(), 4096);
  REQUIRE_FALSE(good.text_with("attached").empty());
  REQUIRE_FALSE(stuck.text_with("attached").empty());
  feed.operation(10, true);
  REQUIRE(good.until([&] { return good.keyframes == 1; }));
  REQUIRE(stuck.until([&] { return stuck.keyframes == 1; }));
  const std::uint64_t wanted = feed.wanted();
  for (int i = 0; i < 400; ++i) {  // 51 MB
    feed.operation(3999);
    REQUIRE(good.until([&] { return good.bytes == (12 + 4000 * (static_cast<std::size_t>(i) + 1)) * sizeof(Event); }));
  }
  // A keyframe would only wait behind what the page does not read.
  std::this_thread::sleep_for(100ms);
  CHECK(feed.wanted() == wanted);
  const std::size_t read = good.bytes;
  feed.operation(10, true);
  feed.operation(1);
  // The server has passed the keyframe while the page did not read: the page would have taken it.
  REQUIRE(good.until([&] { return good.bytes == read + 2 * sizeof(Event); }));
  CHECK(stuck.text_with("lapped") == R"({"lapped":true})");
  CHECK(stuck.bytes < 25'000'000);  // bytes in the sockets
  CHECK_FALSE(stuck.mirror->in_step());
  // It reads again: now a keyframe is asked for.
  REQUIRE(soon([&] { return feed.wanted() == wanted + 1; }));
  const std::size_t before = stuck.bytes;
  feed.operation(10, true);
  feed.operation(2);
  REQUIRE(stuck.until([&] { return stuck.bytes == before + 15 * sizeof(Event); }));
  CHECK(stuck.mirror->in_step());
  CHECK(good.keyframes == 1);
  for (const std::string& text : good.texts) CHECK_FALSE(has(text, "lapped"));
}

TEST_CASE("serve: when the engine overtakes the server, pages begin again") {
  OwnFeed feed;
  const ServedPage served(feed.served());
  TestPage page(served.port());
  REQUIRE_FALSE(page.text_with("attached").empty());
  feed.operation(1, true);
  REQUIRE(page.until([&] { return page.keyframes == 1; }));
  // One operation that is larger than the ring.
  feed.operation((std::size_t{1} << 21) + 1000);
  CHECK(page.text_with("lapped") == R"({"lapped":true})");
  CHECK(feed.wanted() == 2);
  feed.operation(1, true);
  REQUIRE(page.until([&] { return page.keyframes == 2; }));
  CHECK(page.mirror->in_step());
}

TEST_CASE("serve: an engine that ends and comes back") {
  const std::string name = fmt::format("test-serve-{}", ::getpid());
  const auto make = [&] {
    return engine_of(engine_file(fmt::format("{{ shm: {{ name: {}, events: 65536, tokens: true }} }}", name)));
  };
  WebSettings settings;
  settings.limits.look_each = 50ms;
  std::vector<std::string> notes;
  {
    const ServedPage served(
        {.kind = Serves::feed, .name = name, .note = [&](const auto& line) { notes.push_back(line); }}, settings);
    TestPage page(served.port());
    CHECK(has(page.text_with("gone"), "there is no feed with this name"));
    for (int life = 0; life < 3; ++life) {
      CAPTURE(life);
      page.texts.clear();
      std::this_thread::sleep_for(120ms);  // the server looks for the feed, and does not replace the reason
      auto engine = make();
      REQUIRE(page.text_with("attached") == fmt::format(R"({{"attached":"{}"}})", name));
      for (const std::string& text : page.texts) CHECK_FALSE(has(text, "no feed with this name"));
      Tick last = 0;
      {
        FeedHeader& header = engine->feed()->writer().header();
        FeedReader reader(header);
        Mirror direct(header);
        RandomRequests requests(*engine, plugins(), 3, 2);
        requests.run(20);
        REQUIRE(page.until([&] {
          engine->poll();
          return page.mirror && page.mirror->in_step();
        }));
        requests.run(30);
        follow(reader, direct);
        last = direct.tick();
      }
      page.texts.clear();
      engine.reset();
      // The events from before its end arrive first.
      CHECK(page.text_with("gone") == R"({"gone":"the engine has ended"})");
      CHECK(page.mirror->tick() >= last);
      CHECK(page.mirror->in_step());
    }
  }
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "the feed '" + name + "' contains tokens: pages show prompts");
}

TEST_CASE("serve: all feeds are listed, and a page chooses one") {
  const std::string name = fmt::format("test-list-{}", ::getpid());
  const auto make = [&](const std::string& each) {
    return engine_of(engine_file(fmt::format("{{ shm: {{ name: {}, events: 65536, controls: true }} }}", each)));
  };
  WebSettings settings;
  settings.limits.look_each = 50ms;
  const ServedPage served({.kind = Serves::feeds}, settings);
  auto one = make(name + "-1");
  TestPage page(served.port());
  CHECK(page.text_with("serves") == R"({"serves":"feeds","name":"","controls":false,"version":"canopy test"})");
  const std::string list = page.text_with("\"feeds\":[");
  std::string program;
  std::getline(std::ifstream("/proc/self/comm"), program);
  CHECK(has(list, fmt::format(R"({{"name":"{}-1","process":{},"program":"{}","page_size":4,"groups":2,)"
                              R"("controls":true,"tokens":false,"ended":""}})",
                              name, ::getpid(), program)));
  const auto two = make(name + "-2");
  CHECK(has(page.text_with(name + "-2"), R"("ended":"")"));
  for (const auto& [wrong, why] : {std::pair{"attach none-of-these", "there is no feed with this name"},
                                   std::pair{"attach ../x", "expected a name for inspectors"},
                                   std::pair{"attach ", "expected a name for inspectors"}}) {
    page.texts.clear();
    page.client.say(wrong);
    CHECK(has(page.text_with("error"), why));
  }
  const auto watches = [&](Engine& engine) {
    return soon([&] { return desk_behind(engine.feed()->writer().header()).readers.load() == 1; });
  };
  page.client.say("attach " + name + "-1");
  CHECK(page.text_with("attached") == fmt::format(R"({{"attached":"{}-1"}})", name));
  CHECK(watches(*one));
  page.texts.clear();
  page.client.say("attach " + name + "-2");
  CHECK(page.text_with("attached") == fmt::format(R"({{"attached":"{}-2"}})", name));
  CHECK(watches(*two));
  CHECK(desk_behind(one->feed()->writer().header()).readers.load() == 0);
  REQUIRE(page.until([&] {
    two->poll();
    return page.mirror->in_step();
  }));
  page.texts.clear();
  one.reset();
  CHECK_FALSE(has(page.text_with("\"feeds\":["), name + "-1"));
}

TEST_CASE("serve: commands are checked, sent and answered") {
  OwnFeed deaf(false), feed(true);
  const ServedPage silent(feed.served(false)), to_deaf(deaf.served(true)), served(feed.served(true));
  const auto answer = [](TestPage& page, const Command& command) {
    page.texts.clear();
    page.client.send(command);
    return page.text_with("command");
  };
  const Command pause{Command::Kind::pause, 0, 0, {}};
  TestPage quiet(silent.port()), ignored(to_deaf.port()), page(served.port());
  for (TestPage* each : {&quiet, &ignored, &page}) REQUIRE_FALSE(each->text_with("attached").empty());
  CHECK(has(page.texts[0], R"("controls":true)"));
  CHECK(answer(quiet, pause) ==
        R"({"command":"refused","why":"this server passes no commands; `canopy serve --controls` does"})");
  CHECK(has(answer(ignored, pause), R"({"command":"refused","why":"this feed takes no controls)"));
  Command wrong = pause;
  wrong.group = 2;
  CHECK(answer(page, wrong) == R"({"command":"refused","why":"there is no group 2; the feed has 2"})");
  wrong = pause, wrong.kind = static_cast<Command::Kind>(10);
  CHECK(answer(page, wrong) == R"({"command":"refused","why":"10 is no kind of command"})");
  wrong = pause, wrong.until = static_cast<Condition>(5);
  CHECK(answer(page, wrong) == R"({"command":"refused","why":"5 is no condition"})");
  wrong = pause, std::memset(wrong.name, 'x', sizeof(wrong.name));
  CHECK(answer(page, wrong) == R"({"command":"refused","why":"the name in the command has no end"})");
  CHECK(commands_behind(feed.header()).posted.load() == 0);

  Command resize{Command::Kind::resize, 1, 1234, {}};
  CHECK(answer(page, resize) == R"({"command":"accepted","why":""})");
  CHECK(commands_behind(feed.header()).posted.load() == 1);
  const Command& posted = commands_behind(feed.header()).slots[0].command;
  CHECK(posted.kind == Command::Kind::resize);
  CHECK(posted.amount == 1234);
  for (std::size_t i = 1; i < FeedCommands::kSlots; ++i) CHECK(has(answer(page, resize), "accepted"));
  CHECK(answer(page, resize) == R"({"command":"busy","why":"the engine has not read the last commands yet"})");
}

TEST_CASE("serve: what is no message closes the websocket, and the others stay") {
  OwnFeed feed(true);
  const ServedPage served(feed.served(true));
  TestPage witness(served.port());
  REQUIRE_FALSE(witness.text_with("attached").empty());
  const auto closed_after = [&](const std::string& bytes) {
    TestPage page(served.port());
    REQUIRE_FALSE(page.text_with("attached").empty());
    page.client.send(bytes);
    while (page.take()) {
    }
    return page.closed;
  };
  CHECK(closed_after(WebClient::frame(2, std::string(55, '\0'))) == 1003);
  CHECK(closed_after(WebClient::frame(2, "")) == 1003);
  CHECK(closed_after(WebClient::frame(1, "what is this")) == 1008);
  CHECK(closed_after(WebClient::frame(1, "hello " + kToken)) == 1008);
  CHECK(closed_after(WebClient::frame(1, "\xff\xfe")) == 1007);
  CHECK(closed_after(WebClient::frame(2, std::string(5000, 'x'))) == 1009);
  CHECK(closed_after(std::string("\x82\x05hello")) == 1002);  // no mask
  CHECK(closed_after(std::string(20, '\xff')) == 1002);

  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    TestPage page(served.port());
    page.client.wait_at_most(2ms);
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    page.client.send(round % 2 ? bytes : WebClient::frame(static_cast<int>(random() % 16), bytes.substr(0, 125)));
    while (page.take()) {
    }
  }
  feed.operation(1, true);
  CHECK(witness.until([&] { return witness.keyframes == 1; }));
  CHECK(soon([&] { return feed.readers() == 1; }));
  CHECK(commands_behind(feed.header()).posted.load() == 0);
}

TEST_CASE("serve: a page that sends and does not read is closed") {
  OwnFeed feed(true);
  WebSettings settings;
  settings.limits.idle = 400ms;
  const ServedPage served(feed.served(true), settings);
  TestPage page(served.port(), 4096);
  REQUIRE_FALSE(page.text_with("attached").empty());
  const Command wrong{.group = 7};
  bool open = true;
  for (int i = 0; open && i < 1'000'000; ++i) open = page.client.send(wrong);
  CHECK_FALSE(open);
  CHECK(soon([&] { return feed.readers() == 0; }));
}

TEST_CASE("serve: a silent websocket is pinged, and closed if it does not answer") {
  OwnFeed feed;
  WebSettings settings;
  settings.limits.idle = 300ms;
  const ServedPage served(feed.served(), settings);
  TestPage lively(served.port()), dead(served.port());
  REQUIRE_FALSE(dead.text_with("attached").empty());
  CHECK(feed.readers() == 1);
  int pings = 0;
  for (const auto until = std::chrono::steady_clock::now() + 1s; std::chrono::steady_clock::now() < until;) {
    const auto frame = lively.client.next();
    REQUIRE(frame);
    if (frame->opcode != 9) continue;
    ++pings;
    lively.client.send(WebClient::frame(10, frame->payload));
  }
  CHECK(pings >= 3);
  while (dead.take()) {
  }  // its test client answers no ping
  CHECK(dead.closed == 0);
}
