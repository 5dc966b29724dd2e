/// Engines of several ranks under the same calls, each over a storage that ends its calls in an order of its own, and
/// fails on its own.
#include <canopy/base/random.h>
#include <conformance/model/effort.h>
#include <fmt/format.h>
#include <replay/content.h>
#include <support/engines.h>
#include <tiers/ranks.h>

#include <algorithm>
#include <array>
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

constexpr const char* kPaths =
    "full: { reach: path, capacity: 160, allocator: free_list, eviction: lru }, "
    "other: { reach: path, capacity: 160, allocator: free_list, eviction: slru }";
constexpr const char* kParts =
    "full: { reach: path, capacity: 160, allocator: free_list, eviction: lru }, "
    "window: { reach: 6, capacity: 140, allocator: free_list, eviction: lru }, "
    "state: { reach: 1, every: 8, capacity: 80, allocator: free_list, eviction: lru }";

struct Setup {
  std::string name, storage;
  std::size_t ranks = 0;
  const char* groups = kPaths;

  /// Returns the faults of the storage of one rank. They are so rare that the storage serves most of the time, whatever
  /// the number of ranks.
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
class OneRank {
 public:
  OneRank(const Setup& setup, std::uint64_t seed, std::size_t rank, Agreement& agreement)
      : agreement_(agreement), random_(seed), own_(seed * 977 + rank) {
    const bool weighs = seed % 2 == 0;  // fetches against computing
    auto document = parse_yaml(
        fmt::format(
            "page_size: 4\nindex: radix\nstore: {{ host: {{ layers: 1, addresses: 16M, streams: {{ k: 8 }} }} }}\n"
            "groups: {{ {} }}\n"
            "tiers: {{ host: {{ capacity: 160, latency: 30us }}, storage: {{ {}, "
            "in: {{ sim_storage: {{ capacity: 2000000, seed: {}, {} }} }} }}, "
            "recompute: {{ per_token: {}us }} }}\n"
            "model: {{ name: m, revision: r, dtype: bf16, ranks: {}, rank: {} }}\n",
            setup.groups, setup.storage, own_.below(1'000'000), setup.faults(), weighs ? 200 : 0, setup.ranks, rank),
        "test");
    REQUIRE_MESSAGE(document, (document ? "" : document.error().text));
    auto config = read_engine_config(*document, plugins());
    REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
    StorageTierConfig& storage = config->storage_tier;
    storage.kept_free_percent = 30;
    storage.distrust_us = 1'000'000;
    if (storage.lane.bytes_per_s > 0) storage.lane.latency_us = 20;
    else storage.find_limit_us = 2000;
    auto engine = Engine::create(*config, plugins(), nullptr, &agreement_);
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
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
    for (int most = 100'000; most > 0 && sound() && engine_->tiers().next_end_us() != kUnlimited; --most)
      turn(std::max(now_, engine_->tiers().next_end_us()));
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
        for (std::size_t i = 0; i < fetches_.size(); ++i)
          if (fetches_[i].fetch.ready(50)) {
            Waiting waiting = std::move(fetches_[i]);
            fetches_.erase(fetches_.begin() + static_cast<std::ptrdiff_t>(i));
            return begin(std::move(waiting), true);
          }
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
    waiting.fetch = engine_->tiers().fetch(spec_of(waiting));
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
  std::vector<std::unique_ptr<OneRank>> all;

  Ranks(const Setup& setup, std::uint64_t seed) : meeting(setup.ranks) {
    for (std::size_t rank = 0; rank < setup.ranks; ++rank)
      all.push_back(std::make_unique<OneRank>(setup, seed, rank, meeting.of(rank)));
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
  const Setup setups[] = {{"real time", "within: 3ms", count},
                          {"simulated time", "bandwidth: 100MB/s", count},
                          {"written through, in real time", "write: through, within: 3ms", count},
                          {"windows and states, in real time", "within: 3ms", count, kParts},
                          {"windows and states, in simulated time", "bandwidth: 100MB/s", count, kParts}};
  for (const Setup& setup : setups) {
    CAPTURE(setup.name);
    constexpr std::uint64_t kAtOnce = 2500;
    std::uint64_t loaded = 0, written = 0;
    std::array<std::uint64_t, std::size(NamesOf<BringOutcome>::kAll)> by_outcome{};
    std::uint64_t cut = 0, turns = 0;
    for (std::uint64_t left = with_effort(2 * kAtOnce), seed = 1; left > 0; ++seed) {
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
      const CounterValues some = ranks.all[0]->engine().tiers().counters();
      loaded += some[Counter::loaded_tokens_storage];
      written += some[Counter::written_tokens_storage];
      for (std::size_t i = 0; i < by_outcome.size(); ++i) by_outcome[i] += some.at(Counter::fetches_storage, i);
    }
    std::string brings;
    for (std::size_t i = 0; i < by_outcome.size(); ++i)
      if (by_outcome[i] > 0) brings += fmt::format(", {} {}", by_outcome[i], NamesOf<BringOutcome>::kAll[i]);
    MESSAGE(fmt::format(
        "{}, {} ranks: {} turns; {} times a rank had more to report than was agreed; {} tokens put, {} got{}",
        setup.name, count, turns, cut, written, loaded, brings));
    // A run in which nothing came, or all ranks were equally far, proves nothing. In a short one on a busy machine,
    // each call in real time may be late.
    if (with_effort(2 * kAtOnce) < 2 * kAtOnce) continue;
    CHECK(loaded > 0);
    CHECK(cut > 0);
  }
}

}  // namespace

TEST_CASE("ranks: two and four of them decide the same, whatever ends when, and fails where") {
  agree(2);
  agree(4);
}

TEST_CASE("ranks: eight of them decide the same, whatever ends when, and fails where") { agree(8); }
