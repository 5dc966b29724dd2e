/// Engines of several ranks under the same calls, each over a storage that ends its calls in an order of its own, and
/// fails on its own.
#include <canopy/engine/rank_meeting.h>
#include <canopy/plugin.h>
#include <canopy/support/random.h>
#include <conformance/model/effort.h>
#include <fmt/format.h>
#include <replay/content.h>
#include <support/engines.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Sees each exchange of a rank.
class Watched final : public Agreement {
 public:
  explicit Watched(Agreement& inner) : inner_(inner) {}
  const char* least(std::span<std::int64_t> values) override {
    ++exchanges;
    other_sizes += values.size() != kValues;
    const std::vector<std::int64_t> mine(values.begin(), values.end());
    const char* const why = inner_.least(values);
    cut += !std::equal(mine.begin() + 4, mine.end(), values.begin() + 4);
    return why;
  }
  std::uint64_t exchanges = 0, other_sizes = 0;
  std::uint64_t cut = 0;  ///< in so many of them another rank was behind, or had less

 private:
  Agreement& inner_;
};

struct Setup {
  std::string name, storage;
  std::size_t ranks = 0;

  /// Of the storage of one rank, so rare that the storage is called for most of the time whatever the number of ranks.
  std::string faults() const {
    std::string text = "linger: 4";
    for (const auto& [fault, one_in] : {std::pair("absent", 200U),
                                        {"forgets", 100U},
                                        {"damaged", 60U},
                                        {"late", 60U},
                                        {"failed", 60U},
                                        {"full", 30U}})
      text += fmt::format(", {}: {}", fault, one_in * ranks);
    return text;
  }
};

template <class Some>
auto take(Some& some, Random& random) {
  const auto at = some.begin() + random.below(static_cast<std::uint32_t>(some.size()));
  auto one = std::move(*at);
  some.erase(at);
  return one;
}

/// One rank: an engine under random requests. What it does next depends on the seed and on what its engine answers.
class Rank {
 public:
  Rank(const Setup& setup, std::uint64_t seed, std::size_t rank, Agreement& agreement)
      : agreement_(agreement), random_(seed), own_(seed * 977 + rank) {
    auto document = parse_yaml(
        fmt::format("page_size: 4\nindex: radix\nstore: {{ host: {{ layers: 1, streams: {{ k: 8 }} }} }}\n"
                    "groups: {{ full: {{ reach: path, capacity: 160, allocator: free_list, eviction: lru }}, "
                    "other: {{ reach: path, capacity: 160, allocator: free_list, eviction: slru }} }}\n"
                    "tiers: {{ host: {{ capacity: 160, latency: 30 }}, storage: {{ ahead: 30, trust_again: 1, {}, "
                    "in: {{ sim_storage: {{ capacity: 2000000, seed: {}, {} }} }} }} }}\n"
                    "model: {{ name: m, revision: r, dtype: bf16, ranks: {}, rank: {} }}\n",
                    setup.storage, own_.below(1'000'000), setup.faults(), setup.ranks, rank),
        "test");
    const auto config = read_engine_config(*document, plugins());
    auto engine = Engine::create(*config, plugins(), nullptr, &agreement_);
    engine_ = std::move(*engine);
    content_.emplace(*engine_);
  }

  void run(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations && sound(); ++i) {
      operate();
      if (i % 64 == 0) engine_->audit();
    }
    fetches_.clear();
    lives_.clear();
    for (int most = 100'000; most > 0 && sound() && engine_->next_end_us() != kUnlimited; --most)
      turn(std::max(now_, engine_->next_end_us()));
    engine_->audit();
    sound();
  }

  std::string flaw;  ///< the first thing that was wrong
  std::uint64_t turns = 0;
  Engine& engine() { return *engine_; }
  Watched& agreement() { return agreement_; }

 private:
  struct Live {
    Request request;
    replay::Trail trail;
  };
  struct Waiting {
    std::vector<Token> prompt;
    NamespaceId space{};
    Fetch fetch;
  };

  bool sound() {
    if (engine_->ledger().violations() > 0) flaw = engine_->ledger().reports()[0];
    else if (content_->violations() > 0) flaw = content_->reports()[0];
    return flaw.empty();
  }

  void operate() {
    switch (random_.below(20)) {
      case 0:
      case 1:
        return begin({prompt(), space(), {}}, false);
      case 2:
      case 3:
      case 4:
        return fetch();
      case 5:
      case 6:
        if (fetches_.empty()) return;
        return begin(take(fetches_, random_), true);
      case 7:
      case 8:
      case 9:
      case 10:
        return step();
      case 11:
        if (!lives_.empty()) take(lives_, random_);  // aborts
        return;
      case 12:
        engine_->make_free(random_.below(2), random_.below(20));
        return;
      case 13:
        if (random_.one_in(20)) engine_->resize(0, 16 + random_.below(30));
        return;
      case 14:
        if (random_.one_in(20)) engine_->flush(space());
        return;
      case 15:
        if (!fetches_.empty()) take(fetches_, random_);
        return;
      default:
        turn(now_ + random_.below(400));
        if (random_.one_in(50)) turn(now_ + 2'000'000);
    }
  }

  /// Each rank has a clock of its own.
  void turn(std::uint64_t now) {
    now_ = now;
    ++turns;
    engine_->turn(now + own_.below(300));
  }

  NamespaceId space() { return engine_->intern({random_.one_in(2) ? "a" : "", {}, {}}); }
  std::vector<Token> prompt() {
    std::vector<Token> all;
    if (!history_.empty() && !random_.one_in(3)) {
      all = history_[random_.below(static_cast<std::uint32_t>(history_.size()))];
      if (random_.one_in(2)) return all;
      all.resize(1 + random_.below(static_cast<std::uint32_t>(all.size())));
    }
    for (std::uint32_t more = random_.below(40); more > 0; --more) all.push_back(random_.below(3));
    if (all.empty()) all.push_back(1);
    if (all.size() > 100) all.resize(100);
    return all;
  }
  RequestSpec spec_of(const Waiting& waiting) {
    RequestSpec spec = arrival(waiting.prompt);
    spec.space = waiting.space;
    return spec;
  }

  void fetch() {
    if (fetches_.size() >= 6) return;
    Waiting waiting{prompt(), space(), {}};
    waiting.fetch = engine_->fetch(spec_of(waiting));
    if (!waiting.fetch.done()) fetches_.push_back(std::move(waiting));
  }
  void begin(Waiting waiting, bool fetched) {
    if (lives_.size() >= 4) return;
    Request request = engine_->begin(spec_of(waiting), fetched ? std::move(waiting.fetch) : Fetch());
    replay::Trail trail(waiting.space);
    trail.follow(waiting.prompt);
    content_->check(request, trail, 0, request.matched());
    lives_.push_back({std::move(request), std::move(trail)});
    history_.push_back(std::move(waiting.prompt));
    if (history_.size() > 40) history_.erase(history_.begin());
  }
  void step() {
    if (lives_.empty()) return;
    const auto at = lives_.begin() + random_.below(static_cast<std::uint32_t>(lives_.size()));
    Request& request = at->request;
    const auto known = static_cast<std::uint32_t>(request.tokens().size());
    const std::uint32_t computed = request.computed(), until = std::min(known, computed + 1 + random_.below(30));
    if (computed >= known) {
      request.finish(known);
      lives_.erase(at);
    } else if (!request.reserve(until)) {
      lives_.erase(at);
    } else {
      content_->write(request, at->trail, computed, until);
      const std::uint32_t before = request.committed(), other = request.commit(until);
      content_->check(request, at->trail, before, before + other);
    }
  }

  Watched agreement_;
  Random random_;  ///< the same on all ranks
  Random own_;
  std::unique_ptr<Engine> engine_;
  std::optional<replay::Content> content_;
  std::vector<Live> lives_;
  std::vector<Waiting> fetches_;
  std::vector<std::vector<Token>> history_;
  std::uint64_t now_ = 0;
};

/// Ranks, each in a thread of its own.
struct Ranks {
  RankMeeting meeting;
  std::vector<std::unique_ptr<Rank>> all;

  Ranks(const Setup& setup, std::uint64_t seed) : meeting(setup.ranks) {
    for (std::size_t rank = 0; rank < setup.ranks; ++rank)
      all.push_back(std::make_unique<Rank>(setup, seed, rank, meeting.of(rank)));
  }
  void run(std::uint64_t operations) {
    std::vector<std::jthread> threads;
    for (const auto& rank : all)
      threads.emplace_back([&] {
        rank->run(operations);
        meeting.leave();  // one that stopped early is waited for by none
      });
  }
};

void agree(std::size_t count) {
  const Setup setups[] = {{"real time", "find_within: 2000, within: 3000", count},
                          {"simulated time", "bandwidth: 100000000, latency: 20", count}};
  for (const Setup& setup : setups) {
    CAPTURE(setup.name);
    constexpr std::uint64_t kAtOnce = 5000;
    StorageFigures moved;
    std::uint64_t cut = 0, turns = 0;
    for (std::uint64_t left = with_effort(kAtOnce), seed = 1; left > 0; ++seed) {
      CAPTURE(seed);
      const std::uint64_t operations = std::min(left, kAtOnce);
      left -= operations;
      Ranks ranks(setup, seed);
      ranks.run(operations);
      for (const auto& rank : ranks.all) {
        REQUIRE_MESSAGE(rank->flaw.empty(), rank->flaw);
        REQUIRE(rank->engine().digest() == ranks.all[0]->engine().digest());
        REQUIRE(rank->agreement().exchanges == rank->turns);
        REQUIRE(rank->agreement().other_sizes == 0);
        cut += rank->agreement().cut;
      }
      REQUIRE(ranks.meeting.exchanges() == ranks.all[0]->turns);
      turns += ranks.all[0]->turns;
      const StorageFigures& some = ranks.all[0]->engine().storage_figures();
      moved.read_tokens += some.read_tokens;
      moved.written_tokens += some.written_tokens;
      for (std::size_t i = 0; i < kBringOutcomeCount; ++i) moved.brings[i] += some.brings[i];
    }
    std::string brings;
    for (std::size_t i = 0; i < kBringOutcomeCount; ++i)
      if (moved.brings[i] > 0) brings += fmt::format(", {} {}", moved.brings[i], kBringOutcomes[i]);
    MESSAGE(
        fmt::format("{}, {} ranks: {} turns; {} times a rank had more to tell than was agreed; {} tokens put, {} got{}",
                    setup.name, count, turns, cut, moved.written_tokens, moved.read_tokens, brings));
    // A run in which nothing came, or all ranks were equally far, proves nothing.
    CHECK(moved.read_tokens > 0);
    CHECK(cut > 0);
  }
}

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
    told_ = std::exchange(ended_, {});
    for (std::size_t i = 0; i < told_.size(); ++i)
      done[i] = {told_[i].ticket, Fate::done, told_[i].found, told_[i].fates};
    return told_.size();
  }
  StorageUse use() const override { return {}; }

 private:
  struct Ended {
    std::uint64_t ticket;
    std::uint32_t found;
    std::vector<Fate> fates;
  };
  std::uint64_t record_bytes_;
  std::vector<Ended> ended_, told_;
};

constexpr CanopyComponent kOwn[] = {provide<PageStorage, Shared>("shared", "is one for all engines")};
constexpr CanopyPlugin kOwnPlugin{kPluginMagic, sizeof(CanopyPlugin),    CANOPY_TOOLCHAIN, "0.1.0",
                                  kOwn,         sizeof(CanopyComponent), std::size(kOwn)};

/// 16 pages of 4 tokens over a host tier of 12, of which all is put into the shared storage.
Result<std::unique_ptr<Engine>> shared_engine(Agreement* agreement, const std::vector<std::string>& changes = {}) {
  static const Registry registry = [] {
    Registry all;
    all.scan(own_plugin_folder(), Trust::as_ourselves);
    all.add(kOwnPlugin, "by hand");
    return all;
  }();
  auto document = parse_yaml(std::string(kSmall) +
                                 "model: { name: m, revision: r, dtype: bf16 }\n"
                                 "tiers: { host: { capacity: 48 }, storage: { in: shared, ahead: 50 } }\n",
                             "test");
  for (const std::string& change : changes) REQUIRE(set_value(*document, change));
  const auto config = read_engine_config(*document, registry);
  const std::string why = config ? "" : config.error().text;
  REQUIRE_MESSAGE(config, why);
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

constexpr std::size_t kFinds = 4, kGets = kFinds + Agreement::kSlots * Agreement::kSlotValues;

}  // namespace

TEST_CASE("ranks: two and four of them decide the same, whatever ends when, and fails where") {
  agree(2);
  agree(4);
}

TEST_CASE("ranks: eight of them decide the same, whatever ends when, and fails where") { agree(8); }

TEST_CASE("ranks: a call has ended when it has ended everywhere, and has found what every rank has found") {
  Peer peer;
  const auto engine = std::move(*shared_engine(&peer));
  const auto prompt = put_down(*engine, 2);
  REQUIRE(Shared::kept.size() == 10);
  Fetch fetch = engine->fetch(arrival(prompt));
  peer.answers = [](std::span<std::int64_t> values) {
    CHECK(values[kFinds] == 6);  // it has ended here
    CHECK(values[kFinds + 1] == 10);
    std::ranges::fill(values.subspan(4), 0);
    return nullptr;
  };
  for (std::uint64_t now = 3; now < 6; ++now) engine->turn(now);
  CHECK(engine->host_tier()->moving[0] == 0);
  peer.answers = [](std::span<std::int64_t> values) {
    values[kFinds + 1] = 7;
    return nullptr;
  };
  engine->turn(6);
  CHECK(engine->host_tier()->moving[0] == 7);
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
  CHECK(engine->storage_figures().brings[static_cast<std::size_t>(BringOutcome::failed)] == 1);
  for (std::uint64_t now = 9; now < 12; ++now) engine->turn(now);
  CHECK(peer.exchanges == 11);
  check_settled(*engine);
}

TEST_CASE("ranks: what is late is late by the time of the slowest of them") {
  Peer peer;
  const auto engine = std::move(*shared_engine(&peer, {"tiers.storage.find_within=1000"}));
  const auto prompt = put_down(*engine, 2);
  const Fetch fetch = engine->fetch(arrival(prompt));
  peer.answers = [](std::span<std::int64_t> values) {
    values[1] = 900;
    std::ranges::fill(values.subspan(4), 0);
    return nullptr;
  };
  engine->turn(50'000);
  CHECK_FALSE(fetch.done());
  CHECK(engine->tier_figures().now_us == 900);
  peer.answers = [](std::span<std::int64_t> values) {
    std::ranges::fill(values.subspan(4), 0);
    return nullptr;
  };
  engine->turn(50'001);
  CHECK(fetch.done());
}

TEST_CASE("ranks: where they differ all of them say so in the same turn, and bring nothing any more") {
  RankMeeting meeting(2);
  std::vector<std::unique_ptr<Engine>> engines;
  for (std::size_t rank = 0; rank < 2; ++rank)
    engines.push_back(std::move(*shared_engine(&meeting.of(rank), {"tiers.host.latency=100"})));
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
    CHECK(engine->fetch(arrival(tokens(100, 41))).done());
    engine->make_free(0, 16);
    CHECK(engine->host_tier()->moving[0] == 0);
    engine->audit();
    CHECK(engine->ledger().violations() == 1);
  }
  CHECK(meeting.exchanges() == 7);  // none waits for another
}

TEST_CASE("ranks: an agreement that fails, throws or tells more than the least stops the tiers, with a sentence") {
  const auto stopped = [](Peer& peer) {
    const auto engine = std::move(*shared_engine(&peer));
    const auto good = std::exchange(peer.answers, [](auto) { return nullptr; });
    const auto prompt = put_down(*engine, 2);
    const Fetch fetch = engine->fetch(arrival(prompt));
    peer.answers = good;
    engine->turn(3);
    CHECK(fetch.done());
    engine->turn(4);
    CHECK(engine->fetch(arrival(prompt)).done());
    engine->audit();
    REQUIRE(engine->ledger().violations() == 1);
    CHECK(engine->host_tier()->moving[0] == 0);
    std::string text = engine->ledger().reports()[0];
    return text.substr(0, text.find("; from now on"));
  };
  Peer fails;
  fails.answers = [](auto) { return "the group is gone"; };
  CHECK(stopped(fails) == "ranks: in turn 3 there was no agreement: the group is gone");
  CHECK(fails.exchanges == 3);  // it is not asked again
  Peer throws;
  throws.answers = [](auto) -> const char* { throw std::runtime_error("no"); };
  CHECK(stopped(throws) == "ranks: in turn 3 there was no agreement: it threw: no");
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
  CHECK(other->host_tier()->moving[0] == 0);
  CHECK(other->storage_figures().written_tokens == 40);  // as far as this rank's decisions go
  CHECK(Shared::puts == 0);
  const auto first = std::move(*shared_engine(nullptr, {"model.replicated=true", "model.ranks=2", "model.rank=0"}));
  const auto prompt = put_down(*first, 3);
  CHECK(Shared::puts == 1);
  CHECK(first->digest() == other->digest());
  for (const auto& engine : {first.get(), other.get()}) {
    Fetch fetch = engine->fetch(arrival(prompt));
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
