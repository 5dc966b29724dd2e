/// The queue between an engine's thread and a publisher's: what it does when the reader is late.
#include <canopy/kv_events/block_events.h>

#include <canopy/base/random.h>
#include <support/engines.h>

#include <cstring>
#include <deque>
#include <numeric>

#include "event_tree.h"

using namespace canopy;
using namespace canopy::test;
using kv_events::BlockEvents;
using kv_events::TreeQueue;

namespace {

void insert(Engine& engine, Token first, std::size_t count) {
  const auto prompt = tokens(first, count + 1);
  Request request = engine.begin(arrival(prompt));
  REQUIRE(request.reserve(static_cast<std::uint32_t>(count + 1)));
  request.finish(static_cast<std::uint32_t>(count + 1));
}

/// Everything that the queue has, as a reader's tree.
void drain(TreeQueue& queue, BlockEvents& events, EventTree& tree) {
  kv_events::EventBatch batch;
  while (const TreeQueue::Record* record = queue.next())
    for (bool whole = false; !whole;) {
      whole = events.take(*record, batch);
      tree.take(batch);
      batch.clear();
    }
}

constexpr const char* kEngine = R"(
page_size: 4
groups: { full: { reach: path, capacity: 60000, allocator: free_list, eviction: lru } }
)";

}  // namespace

TEST_CASE("a reader that is too late gets everything again, and losses are counted") {
  TreeQueue queue(TreeQueue::WhenFull::drop);
  const auto engine = engine_of(kEngine, {}, &queue);
  BlockEvents events({}, queue);
  EventTree tree;
  insert(*engine, 0, 4'000);
  drain(queue, events, tree);
  CHECK(tree.blocks.size() == 1'000);

  Token first = 10'000;
  for (; queue.breaks() == 0 && first < 100'000'000; first += 10'000) insert(*engine, first, 8'000);
  CHECK(queue.breaks() == 1);
  insert(*engine, first, 8'000);  // not queued
  CHECK(queue.breaks() == 1);
  drain(queue, events, tree);  // whole operations
  kv_events::EventBatch batch;
  events.clear(batch);
  tree.take(batch);
  CHECK(tree.blocks.empty());
  queue.want_resync();
  insert(*engine, first + 10'000, 8'000);
  drain(queue, events, tree);
  CHECK(tree.blocks == IndexTree(*engine, true, 1).tree.blocks);
  CHECK(tree.blocks.size() > 10'000);
  CHECK(events.unplaced == 0);

  for (int i = 0; i < 200; ++i) {
    insert(*engine, static_cast<Token>(200'000'000 + 5'000 * i), 4'000);
    insert(*engine, 0, 400);  // splits, or comes back
    drain(queue, events, tree);
  }
  CHECK(tree.blocks == IndexTree(*engine, true, 1).tree.blocks);
  CHECK(queue.breaks() == 1);
}

TEST_CASE("a reader that has no memory for a resync sees another loss, and may request it again") {
  TreeQueue queue(TreeQueue::WhenFull::drop);
  const auto engine = engine_of(kEngine, {}, &queue);
  BlockEvents events({}, queue);
  EventTree tree;
  queue.lose();
  insert(*engine, 0, 400);
  CHECK(queue.breaks() == 1);
  queue.want_resync();
  queue.lose();  // before the engine looks
  insert(*engine, 10'000, 400);
  CHECK(queue.breaks() == 2);
  CHECK_FALSE(queue.has_more());
  queue.want_resync();
  insert(*engine, 20'000, 400);
  drain(queue, events, tree);
  CHECK(queue.breaks() == 2);
  CHECK(tree.blocks == IndexTree(*engine, true, 1).tree.blocks);
}

TEST_CASE("a namespace whose salt is longer than the queue is left out, and all others are sent") {
  TreeQueue queue(TreeQueue::WhenFull::drop);
  const auto engine = engine_of(kEngine, {}, &queue);
  BlockEvents events({}, queue);
  EventTree tree;
  insert(*engine, 0, 400);
  const NamespaceId endless = engine->intern({{}, {}, std::string(queue.bytes(), 's')});
  CHECK(engine->intern({{}, {}, "short"}) != endless);
  for (const Token first : {Token{0}, Token{10'000}, Token{0}}) {
    const auto prompt = tokens(first, 401);
    RequestSpec spec = arrival(prompt);
    spec.space = endless;
    Request request = engine->begin(spec);
    REQUIRE(request.reserve(401));
    request.finish(401);
    insert(*engine, first, 400);
    drain(queue, events, tree);
  }
  engine->flush(endless);
  insert(*engine, 20'000, 400);
  drain(queue, events, tree);
  CHECK(queue.left_out() == 1);
  CHECK(queue.breaks() == 0);
  CHECK(tree.blocks.size() == 300);
  queue.space(endless, "another", {});  // an IndexSession may give a number again
  RequestSpec spec = arrival(tokens(30'000, 401));
  const auto prompt = tokens(30'000, 401);
  spec.prompt = prompt;
  spec.space = endless;
  Request request = engine->begin(spec);
  REQUIRE(request.reserve(401));
  request.finish(401);
  drain(queue, events, tree);
  CHECK(tree.blocks.size() == 400);
  check_settled(*engine);
}

TEST_CASE("the queue's memory is a full index's words, and a reader that keeps up uses little of it") {
  const auto bytes_of = [](const char* capacity) {
    TreeQueue queue(TreeQueue::WhenFull::drop);
    const auto engine = engine_of(kEngine, {std::string("groups.full.capacity=") + capacity}, &queue);
    return queue.bytes();
  };
  CHECK(bytes_of("60000") == 1U << 20);
  CHECK(bytes_of("4000000") == 64U << 20);
  CHECK(bytes_of("unlimited") == 1U << 30);

  TreeQueue queue(TreeQueue::WhenFull::drop);
  const auto engine = engine_of(kEngine, {"groups.full.capacity=4000000"}, &queue);
  for (int i = 0; i < 100; ++i) {
    insert(*engine, static_cast<Token>(5'000 * i), 4'000);
    while (queue.next()) {
    }
  }
  CHECK(queue.used() < 200'000);
}

TEST_CASE("half of the queue holds the record of a node that fills the index, however long its pages are") {
  for (const Units page : {1U, 16U, 256U, 65536U})
    for (const std::uint64_t words : {1ULL, 131'071ULL, 131'072ULL, 131'073ULL, 1ULL << 20, 1ULL << 24}) {
      CAPTURE(page);
      CAPTURE(words);
      TreeQueue queue(TreeQueue::WhenFull::drop);
      TreeListener::Facts facts;
      facts.shape.page_size = page, facts.words = words;
      REQUIRE(queue.begin(facts).empty());
      CHECK(queue.bytes() / 2 >= sizeof(TreeQueue::Record) + words * 4);
    }
}

TEST_CASE("a prompt that is larger than an event's most blocks comes in parts") {
  TreeQueue queue(TreeQueue::WhenFull::drop);
  const auto engine = engine_of(kEngine, {}, &queue);
  BlockEvents events({}, queue);
  insert(*engine, 0, 4 * 1'500);
  kv_events::EventBatch batch;
  std::vector<std::size_t> sizes;
  while (const TreeQueue::Record* record = queue.next())
    for (bool whole = false; !whole;) {
      whole = events.take(*record, batch);
      if (!batch.events.empty()) sizes.push_back(batch.hashes.size());
      batch.clear();
    }
  CHECK(sizes == std::vector<std::size_t>{512, 512, 476});
}

TEST_CASE("an engine with events and no program that publishes them is refused, as are keys without a form") {
  auto document = parse_yaml(kEngine, "test");
  REQUIRE(document);
  REQUIRE(set_value(*document, "events={zmq: {}}"));
  const auto config = read_engine_config(*document, plugins());
  REQUIRE(config);
  const auto engine = Engine::create(*config, plugins());
  REQUIRE_FALSE(engine);
  CHECK(engine.error().text.find("this program publishes no KV events") != std::string::npos);
  TreeQueue queue(TreeQueue::WhenFull::drop);
  TreeListener::Facts facts;
  facts.shape.page_size = 4, facts.shape.overlap = 2;
  CHECK(queue.begin(facts).find("no form") != std::string::npos);
}

TEST_CASE("a queue returns each record as it came, however often it wraps") {
  TreeQueue queue(TreeQueue::WhenFull::drop);
  TreeListener::Facts facts;
  facts.shape.page_size = 4, facts.shape.groups = 1;
  facts.shape.reaches[0] = kWholePath;
  facts.words = 1'000;
  REQUIRE(queue.begin(facts).empty());
  Random random(1);
  std::deque<std::vector<std::uint32_t>> queued;
  for (std::uint32_t node = 1, read = 1; node <= 30'000; ++node) {
    std::vector<std::uint32_t>& words = queued.emplace_back(4 * (1 + random.below(200)));
    std::iota(words.begin(), words.end(), node);
    queue.added({.resident = 1, .node = NodeId{node}, .length = static_cast<Units>(words.size())}, words.data());
    REQUIRE_FALSE(queue.turn());
    for (; queued.size() > 10; ++read, queued.pop_front()) {  // ten records stay in the queue
      const TreeQueue::Record* const record = queue.next();
      REQUIRE(record);
      REQUIRE(record->kind == TreeQueue::Kind::added);
      REQUIRE(record->node == read);
      REQUIRE(record->length == queued.front().size());
      REQUIRE(std::memcmp(record + 1, queued.front().data(), record->length * sizeof(std::uint32_t)) == 0);
    }
  }
}
