#include <canopy/engine/publisher.h>
#include <canopy/feed/events.h>
#include <canopy/feed/reader.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <mirror/mirror.h>
#include <sources/recording.h>
#include <support/engines.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "two_processes.h"

using namespace canopy;
using namespace canopy::test;
using inspector::Mirror;

namespace {

bool same(const Event& a, const Event& b) { return std::memcmp(&a, &b, sizeof(Event)) == 0; }

/// Whether a field that is not 0 says something: without it, what is decoded is encoded without it.
template <class T, class Field>
bool is_read(const Event& encoded, Field Event::* field) {
  Event without = encoded;
  without.*field = 0;
  return encoded.*field == 0 || T::decode(without).encode().*field == 0;
}

/// Encodes, finds its kind again and decodes: all of it must come back, and what a kind does not use is 0.
template <class T>
void round_trip(const T& event, std::set<int>& kinds) {
  const Event encoded = event.encode();
  CHECK_MESSAGE(
      (is_read<T>(encoded, &Event::group) && is_read<T>(encoded, &Event::flags) && is_read<T>(encoded, &Event::extra) &&
       is_read<T>(encoded, &Event::id) && is_read<T>(encoded, &Event::a) && is_read<T>(encoded, &Event::b)),
      "kind ", int{encoded.kind});
  CHECK(is<T>(encoded));
  CHECK(kinds.insert(encoded.kind).second);
  bool found = false;
  CHECK(event::AllEvents::decode(encoded, [&](const auto& decoded) {
    if constexpr (std::is_same_v<std::decay_t<decltype(decoded)>, T>) found = same(decoded.encode(), encoded);
  }));
  CHECK_MESSAGE(found, "kind ", int{encoded.kind});
}

constexpr NodeId kNode{0x0000'0003'0000'0007}, kOther{0x0000'0001'0000'0009};
constexpr event::TwoRuns kRuns{Segment{11, 5}, Segment{40, 2}};

/// What a reader of a feed in this process has taken.
void take_all(FeedReader& reader, Mirror& mirror) {
  Event events[256];
  for (std::size_t count = 0; reader.read(events, std::size(events), count) == FeedReader::Outcome::events;)
    mirror.take({events, count});
}

}  // namespace

TEST_CASE("events: every kind is decoded to what was encoded, and no two kinds share a number") {
  std::set<int> kinds;
  round_trip(event::NodeAdded{kNode, 2, 48, NamespaceId{3}, 5, 77}, kinds);
  round_trip(event::NodeNamed{kNode, ~std::uint64_t{1}, 9}, kinds);
  round_trip(event::NodeWords{kNode, 8, {1, 2, 3, ~0U}}, kinds);
  round_trip(event::NodePages{kNode, 2, 6, kRuns}, kinds);
  round_trip(event::NodeSplit{kNode, kOther, 16, 4}, kinds);
  round_trip(event::NodeRemoved{kNode, true}, kinds);
  round_trip(event::NodeTombstoned{kNode, 3}, kinds);
  round_trip(event::NodeUsed{kNode, ~std::uint64_t{2}, 32}, kinds);
  round_trip(event::NodeCreated{kNode, 12}, kinds);
  round_trip(event::NodeHistory{kNode, -5, 13, 14, ~0U}, kinds);
  round_trip(event::NodeLocks{kNode, 1, 15}, kinds);
  round_trip(event::NodeRanked{kNode, 1, {~std::uint64_t{3}, 16}}, kinds);
  round_trip(event::Locked{kNode, 2, 17}, kinds);
  round_trip(event::Unlocked{kNode, 2, 18}, kinds);
  round_trip(event::Relocked{kNode, 1, 19, kOther, 20}, kinds);
  round_trip(event::Relaxed{kNode, 1, 21, 22}, kinds);
  round_trip(event::Cleared{}, kinds);
  round_trip(event::RequestBegun{23, 24, 25, NamespaceId{26}, true}, kinds);
  round_trip(event::RequestPages{27, 1, 28, kRuns}, kinds);
  round_trip(event::RequestProgress{29, RequestPhase::retracted, 30, 31, 32}, kinds);
  round_trip(event::Freed{1, kRuns}, kinds);
  round_trip(event::PoolSized{1, 33, 34, kUnlimited}, kinds);
  round_trip(event::SegmentChanged{1, 35, SegmentState::draining, 36, 37}, kinds);
  round_trip(event::Totals{1, 38, 39, 40, 41}, kinds);
  round_trip(event::TextPiece{TextKind::paused, 42, 43, true, 3, {'a', 'b', 'c'}}, kinds);
  round_trip(event::Keyframe{}, kinds);
  round_trip(event::Commit{Operation::insert, 44, 45, 46}, kinds);
  round_trip(event::Pinned{kNode, true}, kinds);
  round_trip(event::NodeJoined{kNode, kOther}, kinds);
  round_trip(event::TierPages{1, 47, 48, 49}, kinds);
  round_trip(event::TierMoved{50, 51, 52}, kinds);
  round_trip(event::TierLane{true, 53, 54, 55, 56}, kinds);
  round_trip(event::TierFetches{{57, 58, 59, 60, 61, ~0U, 62}}, kinds);
  round_trip(event::TierLost{62, 63, 64}, kinds);
  round_trip(event::TierEnds{{93, ~0U, 94}, 95, 96}, kinds);
  round_trip(event::StorageQueue{StorageLane::put, 65, 66, 67, 68}, kinds);
  round_trip(event::StorageSpeed{StorageLane::get, 69, 70}, kinds);
  round_trip(event::StorageFates{StorageLane::find, {71, 72, 73, 74, ~0U}}, kinds);
  round_trip(event::StorageBrings{6, {75, 76, 77, 78, 79, ~0U}}, kinds);
  round_trip(event::StorageMoved{80, 81, 82}, kinds);
  round_trip(event::StorageLost{83, 84, 85, ~0U}, kinds);
  round_trip(event::StorageHealth{StorageState::open, 86, kUnlimited, 87, 88}, kinds);
  round_trip(event::StorageRoom{kUnlimited, 89, 90}, kinds);
  round_trip(event::NodeBrought{kNode, 91, 92}, kinds);
  round_trip(event::CallersPool{1, 97, 98}, kinds);
  round_trip(event::StorageRanks{true, 99, 100}, kinds);
  CHECK(kinds.size() == 46);
  Event unknown;
  for (int kind = 0; kind < 256; ++kind) {
    unknown.kind = static_cast<std::uint8_t>(kind);
    CHECK(event::AllEvents::decode(unknown, [](const auto&) {}) == kinds.contains(kind));
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
    later.kind = 201;  // of a version to come, with anything in it
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

TEST_CASE("publisher: an index without an engine is told of") {
  EngineState state;
  state.page_size = 4;
  const auto policy = make<EvictionStrategy>("lru", {});
  state.groups = {{"full", kWholePath, "lru", policy.get()}};
  const NamespaceId space = state.spaces.intern({"tenant-7", "", ""});
  FeedConfig feed;
  feed.kind = FeedConfig::Kind::heap;
  auto publisher = Publisher::open(feed, state, {"page_size: 4\n", {}, {}});
  REQUIRE(publisher);
  const Group groups[] = {{"full", kWholePath, 400, policy.get()}};
  PrefixIndex::Context context{4, 0, groups, &(*publisher)->writer()};
  state.index = make<PrefixIndex>("radix", context);

  FeedReader reader((*publisher)->writer().header());
  Mirror mirror((*publisher)->writer().header());
  (*publisher)->serve_waiting_readers();
  const auto insert = [&](Token first, Page page) {
    const std::vector<Token> words = tokens(first, 12);
    const std::vector<Page> pages{page, page + 1, page + 2};
    const Inserted inserted = state.index->insert({}, {space, words}, {pages}, {});
    ++state.operations;
    (*publisher)->turn(Operation::insert);
    return inserted.lock;
  };
  const Lock one = insert(100, 1);
  const Lock two = insert(300, 10);
  state.index->release(one);
  (*publisher)->turn(Operation::release);
  take_all(reader, mirror);

  CHECK(mirror.in_step());
  CHECK(mirror.node_count() == 2);
  CHECK(mirror.tick() == state.index->now());
  CHECK(mirror.pool(0).policy == "lru");
  CHECK(mirror.pool(0).policy_rule == policy->describe().rule);
  CHECK(mirror.spaces().at(static_cast<std::size_t>(space)).name == "tenant-7");
  CHECK(mirror.pool(0).counted.evictable * 4 == state.index->sizes(0).evictable);
  CHECK(mirror.pool(0).counted.protected_ * 4 == state.index->sizes(0).protected_);
  const std::vector<std::uint64_t> waiting = [&] {
    std::vector<std::uint64_t> ids;
    for (const std::uint32_t slot : mirror.next_to_evict(0, 9)) ids.push_back(mirror.node(slot).id);
    return ids;
  }();
  CHECK(waiting == std::vector<std::uint64_t>{static_cast<std::uint64_t>(one.node)});
  state.index->release(two);
}

TEST_CASE("publisher: a recording of an index alone begins with a keyframe that was asked for") {
  const std::string path = "/tmp/" + own_name("index") + ".feed";
  EngineState state;
  const auto policy = make<EvictionStrategy>("fifo", {});
  state.groups = {{"full", kWholePath, "fifo", policy.get()}};
  FeedConfig feed;
  feed.kind = FeedConfig::Kind::file;
  feed.name = path;
  {
    auto publisher = Publisher::open(feed, state, {});
    REQUIRE(publisher);
    const Group groups[] = {{"full", kWholePath, 400, policy.get()}};
    state.index = make<PrefixIndex>("radix", {1, 0, groups, &(*publisher)->writer()});
    REQUIRE((*publisher)->on());
    (*publisher)->keyframe();
    const std::vector<Token> words = tokens(5, 3);
    const std::vector<Page> pages{1, 2, 3};
    state.index->release(state.index->insert({}, {NamespaceId::shared, words}, {pages}, {}).lock);
    (*publisher)->turn(Operation::insert);
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
    const Event events[] = {event.encode(), event::Commit{}.encode()};
    mirror.take(events);
  };
  constexpr std::uint32_t kAll = ~std::uint32_t{0};
  take(event::PoolSized{0, kAll, 5, 5});
  take(event::SegmentChanged{0, 0, SegmentState::offered, kAll, 0});
  take(event::SegmentChanged{0, 1, SegmentState::draining, 1, kAll});
  take(event::Freed{0, {Segment{0, kAll}}});
  take(event::RequestPages{~std::uint64_t{0}, 0, 0, {Segment{1, 1}}});
  take(event::TextPiece{TextKind::space, kAll, 0, true, 1, {'x'}});
  CHECK(mirror.pool(0).pages == pages);
  CHECK(mirror.pool(0).end() == end);
  CHECK(mirror.drift() == 0);
  CHECK(mirror.space_name(NamespaceId{77}) == "namespace 77");
}
