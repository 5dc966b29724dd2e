/// Commands of a reader that steers an engine.
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>

#include "two_processes.h"

using namespace canopy;
using namespace canopy::test;
using inspector::Attachment;
using inspector::Mirror;

namespace {

/// An engine of this process that takes commands, with a reader that watches it.
struct Steered {
  std::unique_ptr<Engine> engine;
  FeedHeader& header;
  FeedReader reader;
  Mirror mirror;

  explicit Steered(const char* groups = "  full: { reach: path, capacity: 80, allocator: free_list, eviction: lru }\n")
      : engine(engine_of(std::string("page_size: 4\ngroups:\n") + groups +
                         "feed: { heap: { controls: true, tokens: false } }\n")),
        header(engine->feed()->writer().header()),
        reader(header),
        mirror(header) {
    look();
  }
  /// Returns true if the engine runs. Takes all its events, and expects that the sums agree.
  bool look() {
    const bool runs = engine->poll();
    std::vector<Event> events(4096);
    for (std::size_t count = 0; reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events;)
      mirror.take({events.data(), count});
    CHECK(mirror.drift() == 0);
    CHECK(engine->ledger().violations() == 0);
    return runs;
  }
  bool send(const Command& command) {
    REQUIRE(Attachment::post(header, command));
    return look();
  }
  void serve(const std::vector<Token>& prompt, const char* tenant = "") {
    RequestSpec spec;
    spec.prompt = prompt;
    spec.space = engine->intern({tenant, "", ""});
    Request request = engine->begin(spec);
    REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
    request.commit(static_cast<std::uint32_t>(prompt.size()));
    request.finish(static_cast<std::uint32_t>(prompt.size()));
  }
};

Command until(Condition condition, std::uint64_t amount = 0, std::uint32_t group = 0) {
  return {Command::Kind::run_until, group, amount, {}, condition};
}

}  // namespace

TEST_CASE("controls: a flush ends what retention keeps, as a flush of the program does") {
  Steered steered(
      "  full: { reach: path, capacity: 80, allocator: free_list, eviction: lru }\ntenants: { a: { pins: 24 } }\n");
  const auto prompt = tokens(100, 25);
  const Retention hour{.tokens = 24, .us = 3'600'000'000};
  RequestSpec spec = arrival(prompt);
  spec.space = steered.engine->intern({"a", "", ""});
  spec.retention = {&hour, 1};
  {
    Request request = steered.engine->begin(spec);
    REQUIRE(request.reserve(25));
    request.finish(25);
  }
  REQUIRE(steered.engine->tenants()[1].kept == 24);
  CHECK(steered.send({Command::Kind::flush, 0, static_cast<std::uint64_t>(spec.space)}));
  CHECK(steered.engine->tenants()[1].kept == 0);
  CHECK(steered.engine->index().sizes(0).protected_ == 0);
  CHECK(steered.mirror.node_count() == 0);
  check_settled(*steered.engine);
}

TEST_CASE("controls: an engine runs until what was asked for comes about, and says what it was") {
  Steered steered;
  const auto a = tokens(100, 40), b = tokens(500, 40), c = tokens(900, 24);
  CHECK(steered.send(until(Condition::evicted)));
  steered.serve(a);
  steered.serve(b);
  CHECK(steered.look());
  CHECK(steered.mirror.paused().empty());
  steered.serve(c);
  CHECK_FALSE(steered.look());
  CHECK(steered.mirror.paused().find("pages were evicted") != std::string::npos);

  // It was paused: another condition lets it go on.
  CHECK(steered.send(until(Condition::missed, 1)));
  CHECK(steered.mirror.paused().empty());
  steered.serve(tokens(2000, 8));
  CHECK(steered.look());  // another namespace's miss
  steered.serve(c, "acme");
  CHECK_FALSE(steered.look());
  CHECK(steered.mirror.paused() == "request 5 missed: 0 of 20 tokens were found");

  // A request that finds all that it can reuse is no miss.
  CHECK(steered.send(until(Condition::missed, kAnySpace)));
  steered.serve(c, "acme");
  CHECK(steered.look());

  CHECK(steered.send(until(Condition::request, 8)));
  steered.serve(c);
  CHECK(steered.look());
  steered.serve(c);
  CHECK_FALSE(steered.look());
  CHECK(steered.mirror.paused() == "request 8 began");

  CHECK(steered.send(until(Condition::hit_rate, 500)));
  for (int i = 0; i < 64; ++i) {  // a low hit rate does not count before 64 requests have come
    steered.serve(c);
    REQUIRE(steered.look());
  }
  int misses = 0;
  for (; misses < 64 && steered.look(); ++misses) steered.serve(tokens(10'000 + 100 * static_cast<Token>(misses), 24));
  CHECK(misses > 10);
  CHECK(misses < 64);
  CHECK(steered.mirror.paused().starts_with("the hit rate of the last 64 requests is 4"));

  CHECK(steered.send(until(Condition::free, 1)));
  for (int i = 0; i < 8 && steered.look(); ++i) steered.serve(tokens(50'000 + 100 * static_cast<Token>(i), 16));
  CHECK_FALSE(steered.look());
  CHECK(steered.mirror.paused() == "0 pages are free");

  // A reader that attaches now gets the state; a command that makes no sense changes nothing.
  FeedReader late(steered.header);
  steered.look();
  Mirror fresh(steered.header);
  CHECK(follow(late, fresh, 1) >= 1);
  CHECK(fresh.paused() == "0 pages are free");
  for (const std::uint32_t group : {1U, 7U}) {  // there is one, group 0
    CHECK_FALSE(steered.send(until(Condition::evicted, 0, group)));
    CHECK_FALSE(steered.send(until(Condition::free, 1, group)));
  }
  CHECK_FALSE(steered.send(until(static_cast<Condition>(99))));
  CHECK(steered.send({Command::Kind::go_on}));
  CHECK(steered.mirror.paused().empty());
  CHECK_FALSE(steered.send({Command::Kind::pause}));
  CHECK(steered.mirror.paused() == "paused from an inspector");
  CHECK(steered.send({Command::Kind::step, 0, 2}));  // the first of two
  CHECK(steered.look());
  CHECK_FALSE(steered.look());
  CHECK(steered.mirror.paused() == "it runs step by step, as asked from an inspector");
}

TEST_CASE("controls: a reader that writes its command slowly loses it to no other") {
  Steered steered;
  for (int i = 0; i < 40; ++i) CHECK(steered.send({Command::Kind::go_on}));  // more than the ring has places
  FeedCommands& commands = commands_behind(steered.header);
  const std::uint64_t ticket = commands.posted.fetch_add(1);  // the ticket of a reader that is stopped before it writes
  CHECK(steered.look());
  CHECK(Attachment::post(steered.header, {Command::Kind::go_on}));
  CHECK(steered.look());
  FeedCommands::Slot& slot = commands.slots[ticket % FeedCommands::kSlots];
  slot.command = {Command::Kind::pause};
  slot.ready.store(ticket + 1);
  CHECK(steered.look());  // both are obeyed, in the order of their tickets
  CHECK(steered.mirror.paused().empty());
  CHECK(steered.header.taken.load() == ticket + 2);
}

TEST_CASE("controls: all commands that the ring holds are obeyed at once, in their order") {
  Steered steered;
  const std::uint64_t taken = steered.header.taken.load();
  for (std::uint64_t i = 0; i + 1 < FeedCommands::kSlots; ++i)
    REQUIRE(Attachment::post(steered.header, {Command::Kind::go_on}));
  REQUIRE(Attachment::post(steered.header, {Command::Kind::pause}));
  CHECK_FALSE(steered.look());
  CHECK(steered.header.taken.load() == taken + FeedCommands::kSlots);
}

TEST_CASE("controls: a pool keeps a page, whatever limit it is given") {
  Steered steered;
  steered.serve(tokens(100, 40));
  CHECK(steered.send({Command::Kind::resize, 0, 0}));
  CHECK(steered.engine->pool(0).limit() == 1);
  CHECK_FALSE(steered.engine->pool(0).draining());
  CHECK(steered.send({Command::Kind::resize, 0, 80}));
  steered.serve(tokens(100, 40));
}

TEST_CASE("controls: of as many groups as there can be, the one that was asked for stops the engine") {
  for (const std::uint32_t group : {0U, 3U}) {
    CAPTURE(group);
    Steered steered(
        "  a: { reach: path, capacity: 80, allocator: free_list, eviction: lru }\n"
        "  b: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n"
        "  c: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n"
        "  d: { reach: 8, capacity: 400, allocator: free_list, eviction: lru }\n");
    CHECK(steered.send(until(Condition::evicted, 0, group)));
    steered.serve(tokens(100, 40));
    steered.serve(tokens(500, 40));
    CHECK(steered.look());
    steered.serve(tokens(900, 24));
    CHECK_FALSE(steered.look());
    CHECK(steered.mirror.paused().find(" pages were evicted") != std::string::npos);
  }
}

TEST_CASE("controls: a pinned node stays, whatever is evicted or flushed, until it is unpinned") {
  Steered steered;
  const auto a = tokens(100, 40);
  auto longer = a;
  for (Token t = 0; t < 8; ++t) longer.push_back(7000 + t);
  steered.serve(a);
  steered.serve(longer);
  steered.look();
  std::uint64_t leaf = 0, root = 0;
  steered.mirror.each_node([&](const inspector::MirrorNode& node) { (node.parent ? leaf : root) = node.id; });
  REQUIRE((leaf != 0 && root != 0));
  const auto locks = [&](std::uint64_t id) { return steered.mirror.locks(*steered.mirror.find(id), 0); };
  CHECK(steered.send({Command::Kind::pin, 0, leaf}));
  CHECK(steered.mirror.pins() == std::set<std::uint64_t>{leaf});
  CHECK(locks(leaf) == 1);
  CHECK(locks(root) == 1);
  const std::uint64_t commits = steered.mirror.commits();
  CHECK(steered.send({Command::Kind::pin, 0, leaf}));              // once is enough
  CHECK(steered.send({Command::Kind::pin, 0, 0xFFFF'0000'0009}));  // no such node
  CHECK(steered.send({Command::Kind::unpin, 0, root}));            // not pinned itself
  CHECK(steered.mirror.commits() == commits);

  CHECK(steered.send({Command::Kind::evict, 0, 1000}));
  CHECK(steered.send({Command::Kind::flush, 0, 0}));
  CHECK(steered.mirror.find(leaf));
  CHECK(steered.engine->index().sizes(0).protected_ == 48);
  steered.engine->audit();
  CHECK(steered.engine->ledger().violations() == 0);

  // A split below keeps the id where it was.
  auto other = a;
  other.resize(20);
  for (Token t = 0; t < 8; ++t) other.push_back(9000 + t);
  steered.serve(other);
  CHECK(steered.send({Command::Kind::unpin, 0, leaf}));
  CHECK(steered.mirror.pins().empty());
  CHECK(locks(leaf) == 0);
  CHECK(steered.engine->index().sizes(0).protected_ == 0);
  CHECK(steered.send({Command::Kind::flush, 0, 0}));
  CHECK(steered.mirror.node_count() == 0);
  steered.engine->audit();
  CHECK(steered.engine->ledger().violations() == 0);

  // An engine may end with pins, and a window's gap makes a pin shorter, not wrong.
  Steered windowed(
      "  full: { reach: path, capacity: 200, allocator: free_list, eviction: lru }\n"
      "  window: { reach: 8, capacity: 200, allocator: free_list, eviction: lru }\n");
  windowed.serve(a);
  windowed.look();
  std::uint64_t only = 0;
  windowed.mirror.each_node([&](const inspector::MirrorNode& node) { only = node.id; });
  CHECK(windowed.send({Command::Kind::evict, 1, 1000}));
  CHECK(windowed.send({Command::Kind::pin, 0, only}));
  windowed.engine->audit();
  CHECK(windowed.engine->ledger().violations() == 0);
}
