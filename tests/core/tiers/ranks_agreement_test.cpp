/// Agreement of ranks, turn by turn; an engine whose ranks do not agree; and a model whose ranks share their records.
#include <canopy/plugin.h>
#include <support/engines.h>
#include <tiers/ranks.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <thread>
#include <utility>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Another rank, as a test says.
class Peer final : public Agreement {
 public:
  std::function<const char*(std::span<std::int64_t>)> answers = [](auto) { return nullptr; };
  const char* least(std::span<std::int64_t> values) override {
    ++exchanges;
    return answers(values);
  }
  int exchanges = 0;
};

/// A storage that all engines of this process share.
class Shared final : public PageStorage {
 public:
  struct Config {
    void visit(Options&) {}
  };
  static inline std::map<std::array<std::uint64_t, 4>, std::vector<std::byte>> kept;
  static inline int puts = 0;

  Shared(const Config&, const Context& context) : record_bytes_(context.record_bytes) {}
  StorageTraits traits() const override { return {.shared = true}; }
  void find(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::uint64_t) override {
    const auto gone = std::ranges::find_if(keys, [](const PageKey& key) { return !kept.contains(key.bits); });
    ended_.push_back({ticket, static_cast<std::uint32_t>(gone - keys.begin()), {}});
  }
  void find_each(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::uint64_t) override {
    ended_.push_back({ticket, 0, {}});
    for (const PageKey& key : keys) ended_.back().fates.push_back(kept.contains(key.bits) ? Fate::done : Fate::absent);
  }
  void get(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::span<std::byte* const> records,
           std::uint64_t) override {
    for (std::size_t i = 0; i < keys.size(); ++i) std::ranges::copy(kept.at(keys[i].bits), records[i]);
    ended_.push_back({ticket, 0, std::vector<Fate>(keys.size(), Fate::done)});
  }
  void put(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t, std::uint32_t) override {
    ++puts;
    for (std::size_t i = 0; i < keys.size(); ++i) kept[keys[i].bits].assign(records[i], records[i] + record_bytes_);
    ended_.push_back({ticket, 0, std::vector<Fate>(keys.size(), Fate::done)});
  }
  void remove(const PageKey&, std::span<const PageKey>) override {}
  bool flush(const PageKey&) override { return true; }
  std::size_t poll(std::span<StorageDone> done) override {
    reported_ = std::exchange(ended_, {});
    for (std::size_t i = 0; i < reported_.size(); ++i)
      done[i] = {reported_[i].ticket, Fate::done, reported_[i].found, reported_[i].fates};
    return reported_.size();
  }
  StorageUse use() const override { return {}; }

 private:
  struct Ended {
    std::uint64_t ticket;
    std::uint32_t found;
    std::vector<Fate> fates;
  };
  std::uint64_t record_bytes_;
  std::vector<Ended> ended_, reported_;
};

constexpr CanopyComponent kOwn[] = {provide<PageStorage, Shared>("shared", "is one for all engines")};

/// 16 pages of 4 tokens over a host tier of 12, of which all is put into the shared storage.
Result<std::unique_ptr<Engine>> shared_engine(Agreement* agreement, const std::vector<std::string>& changes = {}) {
  static const Registry registry = registry_with(kOwn);
  auto document = parse_yaml(std::string(kSmall) +
                                 "model: { name: m, revision: r, dtype: bf16 }\n"
                                 "tiers: { host: { capacity: 48 }, storage: { in: shared } }\n",
                             "test");
  for (const std::string& change : changes) REQUIRE(set_value(*document, change));
  auto config = read_engine_config(*document, registry);
  const std::string why = config ? "" : config.error().text;
  REQUIRE_MESSAGE(config, why);
  config->storage_tier.kept_free_percent = 50;
  return Engine::create(*config, registry, nullptr, agreement);
}

/// A prompt of ten pages goes down to the storage, by so many turns.
std::vector<Token> put_down(Engine& engine, int turns) {
  auto prompt = tokens(100, 41);
  Request request = engine.begin(arrival(prompt));
  REQUIRE(request.reserve(41));
  request.finish(41);
  engine.make_free(0, 16);
  for (int i = 1; i <= turns; ++i) engine.turn(static_cast<std::uint64_t>(i));
  return prompt;
}

std::uint64_t brings_whole(const Engine& engine) {
  return engine.tiers().counters().at(Counter::fetches_storage, BringOutcome::whole);
}

/// No call is shown as pending, and this many of each kind as ended: finds, gets and puts.
void check_ended(const Engine& engine, const std::array<std::uint64_t, 3>& calls) {
  for (const StorageLane lane : {StorageLane::find, StorageLane::get, StorageLane::put}) {
    CAPTURE(static_cast<int>(lane));
    CHECK(engine.tiers().counters().at(Counter::calls_storage, lane) == calls[static_cast<std::size_t>(lane)]);
    CHECK(engine.tiers().counters().at(Counter::pending_calls_storage, lane) == 0);
    CHECK(engine.tiers().counters().at(Counter::pending_bytes_storage, lane) == 0);
  }
}

constexpr std::size_t kFinds = 4, kGets = kFinds + Agreement::kSlots * Agreement::kSlotValues;

}  // namespace

TEST_CASE("ranks: a call has ended when it has ended everywhere, and has found what every rank has found") {
  Peer peer;
  const auto engine = std::move(*shared_engine(&peer));
  const auto prompt = put_down(*engine, 2);
  REQUIRE(Shared::kept.size() == 10);
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  peer.answers = [](std::span<std::int64_t> values) {
    CHECK(values[kFinds] == 6);  // it has ended here
    CHECK(values[kFinds + 1] == 10);
    std::ranges::fill(values.subspan(4), 0);
    return nullptr;
  };
  for (std::uint64_t now = 3; now < 6; ++now) engine->turn(now);
  CHECK(state_of(*engine).below->moving[0] == 0);
  peer.answers = [](std::span<std::int64_t> values) {
    values[kFinds + 1] = 7;
    return nullptr;
  };
  engine->turn(6);
  CHECK(state_of(*engine).below->moving[0] == 7);
  peer.answers = [](std::span<std::int64_t> values) {
    CHECK(values[kGets] == 6);
    CHECK(values[kGets + 1] == 7);
    values[kGets] = 2;  // it failed there, behind four records
    values[kGets + 1] = 4;
    return nullptr;
  };
  engine->turn(7);
  peer.answers = [](auto) { return nullptr; };
  engine->turn(8);
  REQUIRE(fetch.done());
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 16);
  CHECK(engine->tiers().counters().at(Counter::fetches_storage, BringOutcome::failed) == 1);
  for (std::uint64_t now = 9; now < 12; ++now) engine->turn(now);
  CHECK(peer.exchanges == 11);
  check_ended(*engine, {1, 1, 1});
  check_settled(*engine);
}

TEST_CASE("ranks: of boundaries that differ the deepest common one is looked for, and then read") {
  Peer peer;
  Shared::kept.clear();
  const auto engine = std::move(
      *shared_engine(&peer, {"groups.part.reach=1", "groups.part.every=8", "groups.part.capacity=64",
                             "groups.part.allocator=free_list", "groups.part.eviction=lru", "tiers.host.capacity=24"}));
  const auto prompt = put_down(*engine, 5);
  const Units here = state_of(*engine).below->index->peek({arrival(prompt).space, prompt}).length;
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  engine->turn(6);
  std::int64_t deepest = 0;
  peer.answers = [&](std::span<std::int64_t> values) {
    CHECK(values[kFinds] == 6);
    deepest = values[kFinds + 1];
    values[kFinds + 1] -= 2;  // it lacks the last state
    return nullptr;
  };
  engine->turn(7);
  REQUIRE(deepest > 2);
  peer.answers = [&](std::span<std::int64_t> values) {
    CHECK(values[kFinds] == 6);  // a second find
    CHECK(values[kFinds + 1] == deepest - 2);
    return nullptr;
  };
  engine->turn(8);
  peer.answers = [&](std::span<std::int64_t> values) {
    CHECK(values[kFinds] == 0);
    return nullptr;
  };
  for (std::uint64_t now = 9; now < 14; ++now) engine->turn(now);
  REQUIRE(fetch.done());
  const Units found = here + static_cast<Units>(deepest - 2) * 4;
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == found);
  for (std::uint64_t now = 14; now < 18; ++now) engine->turn(now);
  CHECK(brings_whole(*engine) == 1);
  Shared::kept.clear();
  check_settled(*engine);
}

TEST_CASE("ranks: what is late is late by the time of the slowest of them") {
  Peer peer;
  const auto engine = std::move(*shared_engine(&peer, {"tiers.storage.within=100ms"}));
  const auto prompt = put_down(*engine, 2);
  const Fetch fetch = engine->tiers().fetch(arrival(prompt));
  peer.answers = [](std::span<std::int64_t> values) {
    values[1] = 900;
    std::ranges::fill(values.subspan(4), 0);
    return nullptr;
  };
  engine->turn(50'000);
  CHECK_FALSE(fetch.done());
  CHECK(engine->tiers().counters()[Counter::turn_us] == 900);
  peer.answers = [](std::span<std::int64_t> values) {
    std::ranges::fill(values.subspan(4), 0);
    return nullptr;
  };
  engine->turn(50'001);
  CHECK(fetch.done());
}

TEST_CASE("ranks: retention ends at the time on which they agree, with tiers or without") {
  for (const char* const tiers : {"", "tiers: { host: { capacity: 64 } }\n"}) {
    CAPTURE(tiers);
    Peer peer;
    peer.answers = [](std::span<std::int64_t> values) {
      values[1] /= 2;  // the clock of the other rank is behind
      return nullptr;
    };
    const auto document =
        parse_yaml(std::string(kSmall) +
                       "tenants: { a: { pins: 32 } }\nmodel: { name: m, revision: r, dtype: bf16, ranks: 2 }\n" + tiers,
                   "test");
    REQUIRE(document);
    const auto config = read_engine_config(*document, plugins());
    REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
    auto made = Engine::create(*config, plugins(), nullptr, &peer);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().text));
    const std::unique_ptr<Engine> engine = std::move(*made);
    engine->turn(0);
    const auto prompt = tokens(1, 25);
    const std::vector<Retention> retention{{.tokens = 24, .us = 1'500}};
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern({.tenant = "a"});
    spec.retention = retention;
    Request request = engine->begin(spec);
    REQUIRE(request.reserve(25));
    request.finish(25);
    engine->turn(2'999);
    CHECK(engine->tenants()[1].kept == 24);
    engine->turn(3'000);
    CHECK(engine->tenants()[1].kept == 0);
    check_settled(*engine);
  }
}

TEST_CASE("ranks: where they differ all of them say so in the same turn, and bring nothing any more") {
  RankMeeting meeting(2);
  std::vector<std::unique_ptr<Engine>> engines;
  for (std::size_t rank = 0; rank < 2; ++rank)
    engines.push_back(std::move(*shared_engine(&meeting.of(rank), {"tiers.host.latency=100us"})));
  std::vector<std::jthread> threads;
  for (const auto& engine : engines)
    threads.emplace_back([&engine, other = engine == engines[1]] {
      const auto prompt = tokens(100, 41);
      for (std::uint64_t now = 1; now <= 3; ++now) {
        Request request = engine->begin(arrival(prompt));
        if (request.reserve(41)) request.finish(41);
        if (other && now == 2) engine->make_free(0, 16);  // the other rank does not
        engine->turn(now);
      }
      for (std::uint64_t now = 4; now <= 400; now += 100) engine->turn(now);
    });
  threads.clear();
  for (const auto& engine : engines) {
    CHECK(engine->ledger().violations() == 1);
    CHECK(engine->ledger().reports()[0] ==
          "ranks: in turn 2 the engines of two ranks had decided differently: their calls, their components or their "
          "settings differ; from now on nothing moves between the tiers of this engine");
    CHECK(engine->tiers().fetch(arrival(tokens(100, 41))).done());
    engine->make_free(0, 16);
    CHECK(state_of(*engine).below->moving[0] == 0);
    engine->audit();
    CHECK(engine->ledger().violations() == 1);
  }
  CHECK(meeting.exchanges() == 7);  // none waits for another
}

TEST_CASE("ranks: engines without tiers meet in each turn as well") {
  Peer peer;
  const auto config = read_engine_config(*parse_yaml(kSmall, "test"), plugins());
  const auto engine = std::move(*Engine::create(*config, plugins(), nullptr, &peer));
  for (std::uint64_t now = 1; now <= 3; ++now) engine->turn(now);
  CHECK(peer.exchanges == 3);
  CHECK(engine->ledger().violations() == 0);
  peer.answers = [](std::span<std::int64_t> values) { return --values[2], nullptr; };
  engine->turn(4);
  CHECK(engine->ledger().violations() == 1);
}

TEST_CASE("ranks: a host tier without images needs no memory, and is agreed on") {
  Peer peer;
  auto document = parse_yaml(std::string(kSmall) + "tiers: { host: { capacity: 48 } }\n", "test");
  REQUIRE(set_value(*document, "store=none"));
  const auto config = read_engine_config(*document, plugins());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  const auto engine = Engine::create(*config, plugins(), nullptr, &peer);
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
  leave(**engine, tokens(100, 41));
  (*engine)->make_free(0, 16);
  (*engine)->turn(1);
  CHECK(peer.exchanges == 1);
  CHECK((*engine)->tiers().has_host());
  CHECK((*engine)->ledger().violations() == 0);
}

TEST_CASE("ranks: an agreement that fails, throws or returns more than the least stops the tiers, with a sentence") {
  const auto stopped = [](Peer& peer) {
    const auto engine = std::move(*shared_engine(&peer));
    const auto good = std::exchange(peer.answers, [](auto) { return nullptr; });
    const auto prompt = put_down(*engine, 2);
    const Fetch fetch = engine->tiers().fetch(arrival(prompt));
    peer.answers = good;
    engine->turn(3);
    CHECK(fetch.done());
    engine->turn(4);
    CHECK(engine->tiers().fetch(arrival(prompt)).done());
    engine->audit();
    REQUIRE(engine->ledger().violations() == 1);
    CHECK(state_of(*engine).below->moving[0] == 0);
    std::string text = engine->ledger().reports()[0];
    return text.substr(0, text.find("; from now on"));
  };
  Peer fails;
  fails.answers = [](auto) { return "the group is gone"; };
  CHECK(stopped(fails) == "ranks: in turn 3 there was no agreement: the group is gone");
  CHECK(fails.exchanges == 3);  // it is not called again
  Peer throws;
  throws.answers = [](auto) -> const char* { throw std::runtime_error("no"); };
  CHECK(stopped(throws) == "ranks: in turn 3 there was no agreement: it threw: no");
  Peer throws_a_number;
  throws_a_number.answers = [](auto) -> const char* { throw 7; };
  CHECK(stopped(throws_a_number) == "ranks: in turn 3 there was no agreement: it threw");
  Peer most;
  most.answers = [](std::span<std::int64_t> values) { return ++values[kFinds + 1], nullptr; };
  CHECK(stopped(most) ==
        "ranks: in turn 3 value 5 of the agreement is 11 where this rank gave 10; expected the least of all ranks");
  CHECK(most.exchanges == 4);  // no other rank waits for it
  Peer other;
  other.answers = [](std::span<std::int64_t> values) { return values[0] = 0, nullptr; };
  CHECK(stopped(other) == "ranks: in turn 3 another rank had stopped");
}

TEST_CASE("ranks: of a replicated model rank 0 puts the records, and all read them") {
  Shared::kept.clear();
  Shared::puts = 0;
  const auto other = std::move(*shared_engine(nullptr, {"model.replicated=true", "model.ranks=2", "model.rank=1"}));
  put_down(*other, 3);
  CHECK(state_of(*other).below->moving[0] == 0);
  CHECK(other->tiers().counters()[Counter::written_tokens_storage] == 40);  // as far as this rank's decisions go
  CHECK(Shared::puts == 0);
  const auto shown = [](const Engine& engine) {
    return engine.tiers().counters().at(Counter::calls_storage, StorageLane::put);
  };
  CHECK(shown(*other) == 0);
  const auto first = std::move(*shared_engine(nullptr, {"model.replicated=true", "model.ranks=2", "model.rank=0"}));
  const auto prompt = put_down(*first, 3);
  CHECK(Shared::puts == 1);
  CHECK(shown(*first) == 1);
  CHECK(first->digest() == other->digest());
  for (const auto& engine : {first.get(), other.get()}) {
    Fetch fetch = engine->tiers().fetch(arrival(prompt));
    for (std::uint64_t now = 4; now < 8; ++now) engine->turn(now);
    CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 40);
  }
  const auto refused =
      shared_engine(nullptr, {"model.replicated=true", "model.ranks=2", "tiers.storage.in=sim_storage"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text ==
        "test: model.replicated: rank 0 puts the records of all 2 ranks, and page storage 'sim_storage' "
        "(sim_storage.so) shows "
        "them to no other process; expected a storage that does, such as redis");
}

TEST_CASE("ranks: what one of them alone reports of a call is what is agreed of it") {
  Peer peer;
  TurnBoard board(peer);
  board.begin(7, 99);
  board.offer(2, 31, {CallEnd::How::done, 3, 5, 4});
  board.offer(0, 1, {CallEnd::How::late, 0, 0, 9});
  REQUIRE(board.exchange());
  CHECK(board.now_us() == 7);
  const CallEnd last = board.agreed(2, 31), other = board.agreed(0, 1);
  CHECK(last.how == CallEnd::How::done);
  CHECK(last.count == 3);
  CHECK(last.checked == 5);
  CHECK(last.valid == 4);
  CHECK(other.how == CallEnd::How::late);
  CHECK(other.valid == 9);
  CHECK(board.agreed(1, 0).how == CallEnd::How::open);
}

TEST_CASE("ranks: a tier of page numbers alone needs no memory, and is begun with") {
  Peer peer;
  auto document = parse_yaml(
      "page_size: 4\nindex: radix\ntiers: { host: { capacity: 48 } }\n"
      "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n",
      "test");
  REQUIRE(document);
  const auto config = read_engine_config(*document, plugins());
  REQUIRE(config);
  const auto engine = Engine::create(*config, plugins(), nullptr, &peer);
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
  leave(**engine, tokens(100, 41));
  (*engine)->make_free(0, 16);
  (*engine)->turn(1);
  CHECK(state_of(**engine).below->index->sizes(0).evictable == 40);
  CHECK(peer.exchanges == 1);
}
