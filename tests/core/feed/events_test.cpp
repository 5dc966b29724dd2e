#include <canopy/engine/index_session.h>
#include <canopy/feed/events.h>
#include <canopy/feed/reader.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <mirror/mirror.h>
#include <sources/recording.h>
#include <support/engines.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "two_processes.h"

using namespace canopy;
using namespace canopy::test;
using inspector::Mirror;

namespace {

/// Finds an event's kind again: its struct must come back as it was sent, with 0 in what it does not use.
template <class T>
void round_trip(const T& event, std::set<int>& kinds) {
  const auto sent = std::bit_cast<Event>(event);
  CHECK(is<T>(sent));
  CHECK(kinds.insert(sent.kind).second);
  bool found = false;
  CHECK(event::AllEvents::visit(sent, [&](const auto& came) {
    if constexpr (std::is_same_v<std::decay_t<decltype(came)>, T>) found = std::memcmp(&came, &sent, sizeof(sent)) == 0;
  }));
  CHECK_MESSAGE(found, "kind ", int{sent.kind});
  // A field that a sender does not set is 0, but for the share of a tenant without one.
  auto plain = std::bit_cast<Event>(T{});
  if constexpr (std::is_same_v<T, event::TenantShare>)
    plain = std::bit_cast<Event>(T{.ceiling = T{}.ceiling + 1, .weight = T{}.weight - 1'000'000});
  CHECK_MESSAGE(plain.group == 0, "kind ", int{sent.kind});
  CHECK_MESSAGE(std::ranges::all_of(plain.fields, [](std::uint8_t byte) { return byte == 0; }), "kind ",
                int{sent.kind});
}

constexpr NodeId kNode{0x0000'0003'0000'0007}, kOther{0x0000'0001'0000'0009};
constexpr event::TwoRuns kRuns{Segment{11, 5}, Segment{40, 2}};

/// Applies all events of a feed in this process that the reader has not taken yet.
void take_all(FeedReader& reader, Mirror& mirror) {
  Event events[256];
  for (std::size_t count = 0; reader.read(events, std::size(events), count) == FeedReader::Outcome::events;)
    mirror.take({events, count});
}

}  // namespace

TEST_CASE("events: every kind comes back as it was sent, and no two kinds share a number") {
  std::set<int> kinds;
  round_trip(
      event::NodeAdded{.resident = 5, .space = NamespaceId{3}, .node = kNode, .parent = 2, .length = 48, .request = 77},
      kinds);
  round_trip(event::NodeNamed{.node = kNode, .digest = ~std::uint64_t{1}, .created = 9}, kinds);
  round_trip(event::NodeWords{.first = 8, .node = kNode, .words = {1, 2, 3, ~0U}}, kinds);
  round_trip(event::NodePages{.group = 2, .place = 6, .node = kNode, .runs = kRuns}, kinds);
  round_trip(event::NodeSplit{.units = 16, .node = kNode, .upper = kOther, .inserts = 4}, kinds);
  round_trip(event::NodeRemoved{.inherited = true, .node = kNode}, kinds);
  round_trip(event::NodeTombstoned{.group = 3, .node = kNode}, kinds);
  round_trip(event::NodeUsed{.from = 32, .node = kNode, .tick = ~std::uint64_t{2}}, kinds);
  round_trip(event::NodeCreated{.node = kNode, .created = 12}, kinds);
  round_trip(event::NodeHistory{.priority = -5, .node = kNode, .last_access = 13, .hits = 14, .inserts = ~0U}, kinds);
  round_trip(event::NodeLocks{.group = 1, .locks = 15, .node = kNode}, kinds);
  round_trip(event::NodeRanked{.group = 1, .node = kNode, .rank = {~std::uint64_t{3}, 16}}, kinds);
  round_trip(event::Locked{.group = 2, .from = 17, .node = kNode}, kinds);
  round_trip(event::Unlocked{.group = 2, .from = 18, .node = kNode}, kinds);
  round_trip(event::Relocked{.group = 1, .from = 19, .node = kNode, .before = kOther, .from_before = 20}, kinds);
  round_trip(event::Relaxed{.group = 1, .from = 22, .node = kNode, .from_before = 21}, kinds);
  round_trip(event::Cleared{}, kinds);
  round_trip(event::RequestBegun{.fetch = true,
                                 .waits = true,
                                 .prompt = 24,
                                 .request = 23,
                                 .matched = 25,
                                 .space = NamespaceId{26},
                                 .node = kNode},
             kinds);
  round_trip(event::RequestAdmitted{.matched = 110, .request = 109}, kinds);
  round_trip(event::RequestPages{.group = 1, .place = 28, .request = 27, .runs = kRuns}, kinds);
  round_trip(
      event::RequestProgress{
          .phase = RequestPhase::retracted, .computed = 30, .request = 29, .committed = 31, .tokens = 32},
      kinds);
  round_trip(event::Freed{.group = 1, .runs = kRuns}, kinds);
  round_trip(event::PoolSized{.group = 1, .segment_pages = 33, .pages = 34, .limit = kUnlimited}, kinds);
  round_trip(
      event::SegmentChanged{.group = 1, .state = SegmentState::draining, .offered = 36, .number = 35, .draining = 37},
      kinds);
  round_trip(event::Totals{.group = 1, .owned = 38, .free = 39, .evictable = 40, .protected_ = 41}, kinds);
  round_trip(
      event::TextPiece{
          .text = TextKind::paused, .size = 3, .number = 42, .at = 43, .last = true, .bytes = {'a', 'b', 'c'}},
      kinds);
  round_trip(event::Keyframe{}, kinds);
  round_trip(event::Commit{.operation = Operation::insert, .tick = 44, .operations = 45, .us = 46}, kinds);
  round_trip(event::Pinned{.pinned = true, .node = kNode}, kinds);
  round_trip(event::NodeJoined{.node = kNode, .child = kOther}, kinds);
  round_trip(event::CounterValue{.counter = Counter::records_storage, .row = 2, .column = 4, .value = 47}, kinds);
  round_trip(event::StorageHealth{.state = StorageState::open, .ranks = RanksState::stopped, .until_us = kUnlimited},
             kinds);
  round_trip(event::NodeBrought{.from = 91, .node = kNode, .until = 92}, kinds);
  round_trip(event::CallersPool{.group = 1, .pages = 98, .free = 97}, kinds);
  round_trip(event::TenantShare{.tenant = 99, .floor = 100, .ceiling = 101, .weight = 102}, kinds);
  round_trip(event::TenantOfSpace{.tenant = 103, .space = NamespaceId{104}}, kinds);
  round_trip(event::TenantEvicted{.from = 105, .taker = event::kNoTenant, .tokens = 107, .below_floor = 106}, kinds);
  round_trip(event::EvictedFor{.space = NamespaceId{108}}, kinds);
  round_trip(event::NodeDigests{.place = 109, .node = kNode, .digests = {110, 111, 112, 113}}, kinds);
  CHECK(kinds.size() == 39);
  Event unknown;
  for (int kind = 0; kind < 256; ++kind) {
    unknown.kind = static_cast<std::uint8_t>(kind);
    CHECK(event::AllEvents::visit(unknown, [](const auto&) {}) == kinds.contains(kind));
  }
}

TEST_CASE("events: a reader skips kinds that it does not know, counts them, and stays in step") {
  const auto engine = engine_of(std::string(kSmall) + "feed: { heap: {} }\n");
  FeedReader reader(engine->feed()->writer().header());
  engine->poll();
  std::vector<Event> events;
  const auto read_on = [&] {
    Event some[256];
    for (std::size_t count = 0; reader.read(some, std::size(some), count) == FeedReader::Outcome::events;)
      events.insert(events.end(), some, some + count);
  };
  read_on();
  for (Token first : {100U, 200U, 104U}) {
    Request request = engine->begin(arrival(tokens(first, 12)));
    REQUIRE(request.reserve(12));
    request.finish(12);
    read_on();
  }
  Mirror plain(engine->feed()->writer().header()), newer(engine->feed()->writer().header());
  plain.take(events);
  std::uint64_t added = 0;
  for (const Event& one : events) {
    Event later = one;
    later.kind = 201;  // a kind of a later version, with anything in it
    later.group = 255;
    if (!is<event::Keyframe>(one)) newer.take({&later, 1}), ++added;
    newer.take({&one, 1});
  }
  REQUIRE(plain.node_count() > 1);
  CHECK(newer.node_count() == plain.node_count());
  CHECK(newer.commits() == plain.commits());
  CHECK(newer.drift() == 0);
  CHECK(plain.unknown_events() == 0);
  CHECK(newer.unknown_events() == added);
}

namespace {

std::unique_ptr<IndexSession> session_of(const FeedConfig& feed, Units page_size, const std::string& policy) {
  IndexSession::Config config;
  config.page_size = page_size;
  config.capacity = 400;
  config.policy = make<EvictionStrategy>(policy, {});
  config.policy_name = policy;
  config.feed = feed;
  auto session = IndexSession::open(std::move(config), plugins());
  REQUIRE(session);
  return std::move(*session);
}

}  // namespace

TEST_CASE("session: a feed follows an index without an engine, its caller's pool and requests") {
  FeedConfig feed;
  feed.kind = FeedConfig::Kind::heap;
  const auto session = session_of(feed, 4, "lru");
  PrefixIndex& index = session->index();
  bool is_new = false;
  const NamespaceId space = session->intern({"tenant-7", "", ""}, is_new);
  CHECK(is_new);

  FeedReader reader(session->feed()->writer().header());
  Mirror mirror(session->feed()->writer().header());
  session->poll();
  const auto insert = [&](Token first, Page page) {
    const std::vector<Token> words = tokens(first, 12);
    const std::vector<Page> pages{page, page + 1, page + 2};
    const Inserted inserted = index.insert({}, {space, words}, {pages}, {});
    session->end_operation(Operation::insert);
    return inserted.lock;
  };
  const Lock one = insert(100, 1);
  const Lock two = insert(300, 10);
  index.release(one);
  session->end_operation(Operation::release);
  CHECK(session->set_pool(100, 40));
  CHECK_FALSE(session->set_pool(100, 40));
  const std::uint64_t request = session->begin_request(space, 30, 8);
  session->end_operation(Operation::begin);
  take_all(reader, mirror);

  CHECK(mirror.in_step());
  CHECK(mirror.node_count() == 2);
  CHECK(mirror.tick() == index.now());
  CHECK(mirror.pool(0).policy == "lru");
  CHECK(mirror.spaces().at(static_cast<std::size_t>(space)).name == "tenant-7");
  CHECK(mirror.pool(0).counted.evictable * 4 == index.sizes(0).evictable);
  CHECK(mirror.pool(0).counted.protected_ * 4 == index.sizes(0).protected_);
  const std::vector<std::uint64_t> waiting = [&] {
    std::vector<std::uint64_t> ids;
    for (const std::uint32_t slot : mirror.next_to_evict(0, 9)) ids.push_back(mirror.node(slot).id);
    return ids;
  }();
  CHECK(waiting == std::vector<std::uint64_t>{static_cast<std::uint64_t>(one.node)});
  // Each step of a request is in the feed when it is made, and a reader that comes later gets the same.
  CHECK(session->progress(request, RequestPhase::running, 20, 12, 31));
  session->end_operation(Operation::advance);
  take_all(reader, mirror);
  FeedReader late(session->feed()->writer().header());
  Mirror other(session->feed()->writer().header());
  session->poll();
  take_all(late, other);
  for (const Mirror* const each : {&mirror, &other}) {
    REQUIRE(each->requests().size() == 1);
    const inspector::MirrorRequest& seen = each->requests()[0];
    CHECK(seen.id == request);
    CHECK(seen.space == space);
    CHECK(seen.prompt == 30);
    CHECK(seen.matched == 8);
    CHECK(seen.computed == 20);
    CHECK(seen.committed == 12);
    CHECK(seen.known == 31);
    CHECK_FALSE(seen.ended());
  }
  CHECK(session->progress(request, RequestPhase::finished, 30, 28, 30));
  CHECK_FALSE(session->progress(request, RequestPhase::finished, 30, 28, 30));
  session->end_operation(Operation::release);
  take_all(reader, mirror);
  REQUIRE(mirror.requests().size() == 1);
  CHECK(mirror.requests()[0].ended());
  index.release(two);
}

TEST_CASE("session: groups with a reach are in the index and in its feed") {
  IndexSession::Config config;
  config.page_size = 4;
  config.policy = make<EvictionStrategy>("lfu", {});
  config.policy_name = "lfu";
  config.feed.kind = FeedConfig::Kind::heap;
  config.reaches = {
      {.name = "window", .reach = 8, .policy = make<EvictionStrategy>("lru", {}), .policy_name = "lru"},
      {.name = "state", .max_per_path = 1, .policy = make<EvictionStrategy>("lru", {}), .policy_name = "lru"}};
  auto opened = IndexSession::open(std::move(config), plugins());
  REQUIRE(opened);
  IndexSession& session = **opened;
  PrefixIndex& index = session.index();
  FeedReader reader(session.feed()->writer().header());
  Mirror mirror(session.feed()->writer().header());
  session.poll();

  const std::vector<Token> words = tokens(100, 16);
  const std::vector<Page> full{1, 2, 3, 4}, window{0, 5, 6, 7}, first_state{0, 8}, last_state{0, 0, 0, 9};
  const Inserted half = index.insert({}, {NamespaceId::shared, std::span(words).first(8)},
                                     {std::span(full).first(2), std::span(window).first(2), first_state}, {});
  const Inserted whole =
      index.insert(half.lock, {NamespaceId::shared, words},
                   {std::span(full).last(2), std::span(window).last(2), std::span(last_state).last(2)}, {});
  CHECK(std::ranges::equal(whole.evicted[2], std::vector<Page>{8}));  // one state a path
  CHECK(whole.lock.from[1] == 8);
  session.end_operation(Operation::insert);
  take_all(reader, mirror);
  CHECK(mirror.in_step());
  REQUIRE(mirror.groups() == 3);
  CHECK(mirror.pool(1).policy == "lru");
  for (std::size_t g = 0; g < 3; ++g) {
    CHECK(mirror.pool(g).counted.evictable * 4 == index.sizes(g).evictable);
    CHECK(mirror.pool(g).counted.protected_ * 4 == index.sizes(g).protected_);
  }
  index.release(whole.lock);
}

TEST_CASE("session: a recording of an index alone begins with a keyframe") {
  const std::string path = "/tmp/" + own_name("index") + ".feed";
  FeedConfig feed;
  feed.kind = FeedConfig::Kind::file;
  feed.name = path;
  {
    const auto session = session_of(feed, 1, "fifo");
    const std::vector<Token> words = tokens(5, 3);
    const std::vector<Page> pages{1, 2, 3};
    PrefixIndex& index = session->index();
    index.release(index.insert({}, {NamespaceId::shared, words}, {pages}, {}).lock);
    session->end_operation(Operation::insert);
  }
  const auto recording = inspector::Recording::open(path);
  std::remove(path.c_str());
  REQUIRE(recording);
  Mirror mirror((*recording)->header());
  mirror.take((*recording)->events(0, (*recording)->commits()));
  CHECK(mirror.in_step());
  CHECK(mirror.node_count() == 1);
}

TEST_CASE("mirror: figures that no engine has are passed over, whatever they are about") {
  const auto engine = engine_of(std::string(kSmall) + "feed: { heap: {} }\n");
  FeedReader reader(engine->feed()->writer().header());
  engine->poll();
  Mirror mirror(engine->feed()->writer().header());
  take_all(reader, mirror);
  REQUIRE(mirror.in_step());
  const auto pages = mirror.pool(0).pages;
  const auto end = mirror.pool(0).end();
  const auto take = [&](const auto& event) {
    const Event events[] = {std::bit_cast<Event>(event), std::bit_cast<Event>(event::Commit{})};
    mirror.take(events);
  };
  constexpr std::uint32_t kAll = ~std::uint32_t{0};
  take(event::PoolSized{.segment_pages = kAll, .pages = 5, .limit = 5});
  take(event::SegmentChanged{.state = SegmentState::offered, .offered = kAll});
  take(event::SegmentChanged{.state = SegmentState::draining, .offered = 1, .number = 1, .draining = kAll});
  take(event::SegmentChanged{.state = SegmentState{9}, .offered = 1});
  take(event::Freed{.runs = {Segment{0, kAll}}});
  take(event::RequestPages{.request = ~std::uint64_t{0}, .runs = {Segment{1, 1}}});
  take(event::CounterValue{.counter = Counter{kCounterCount}, .value = 7});
  take(event::CounterValue{.counter = Counter::fetches, .row = std::size(NamesOf<FetchOutcome>::kAll), .value = 7});
  take(event::CounterValue{.counter = Counter::fetches, .column = 1, .value = 7});
  take(event::TextPiece{.text = TextKind::space, .size = 1, .number = kAll, .last = true, .bytes = {'x'}});
  CHECK(mirror.pool(0).pages == pages);
  CHECK(mirror.pool(0).end() == end);
  for (const auto& segment : mirror.pool(0).segments) CHECK(segment.state <= SegmentState::idle);
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    CHECK_MESSAGE(mirror.counters().at(counter, row, column) == 0, info.name);
  });
  CHECK(mirror.drift() == 0);
  CHECK(mirror.space_name(NamespaceId{77}) == "(namespace 77)");
}
