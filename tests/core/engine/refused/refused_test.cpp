/// Memory that is refused up to eight times in a row, from each place of an engine's life on: each engine of
/// configs/engines, with each policy.
#include <canopy/base/random.h>
#include <fmt/format.h>
#include <support/engines.h>
#include <support/flipped_codec.h>
#include <support/refused_memory.h>
#include <support/source_folder.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include <core/tiers/by_hand.h>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr long kMostInARow = 8;

struct Trial {
  const char* file;               ///< name of a file in configs/engines
  std::vector<std::string> also;  ///< on top of the assignments for all
};
const std::vector<Trial> kTrials = {
    {"lru", {"store={ host: { layers: 1, streams: { k: 4 } } }"}},
    {"lru", {"store={ host: { layers: 1, streams: { k: 4 } } }", "index=hash_chain"}},
    {"cache_off", {"store={ host: { layers: 1, streams: { k: 4 } } }"}},
    {"eagle", {"store={ host: { layers: 1, streams: { k: 4 } } }", "groups.full.allocator=contiguous"}},
    {"hybrid_state", {"groups.state.every=8", "groups.state.capacity=96"}},
    {"mla", {"store={ host: { layers: 1, streams: { k: 4 } } }", "groups.full.allocator=segments"}},
    {"sglang_lru", {"store={ host: { layers: 1, streams: { k: 4 } } }"}},
    {"sliding_window", {"groups.window.reach=8", "groups.window.capacity=96"}},
    {"all_reaches",
     {"groups.window.reach=8", "groups.window.capacity=96", "groups.state.every=8", "groups.state.capacity=96"}},
    {"ten_million", {"groups.full.start=16"}},
    {"token_pages", {}},
    {"unlimited", {}},
    {"gpu", {"store=none", "groups.full.allocator=contiguous"}},
};

/// Engines with tenants, or with tiers below their pools.
const std::vector<Trial> kTiered = {
    {"tenants",
     {"store={ host: { layers: 1, streams: { k: 4 } } }",
      "tenants={ acme: { floor: 32, weight: 2, pins: 32 }, batch: { ceiling: 64, eviction: fifo }, '*': { weight: 1 } "
      "}"}},
    {"tenants",
     {"store={ host: { layers: 1, streams: { k: 4 } } }", "tiers={ host: { capacity: 256, write: write_through } }",
      "tenants={ acme: { floor: 32 }, '*': { weight: 1 } }"}},
    {"tiers_host", {"store={ host: { layers: 1, streams: { k: 4 } } }", "tiers.host.capacity=256"}},
    {"tiers_slots",
     {"store={ host: { layers: 1, streams: { k: 4 } } }", "tiers.host.capacity=256", "index=hash_chain",
      "tiers.storage.in={ sim_storage: { capacity: 1MiB } }"}},
    {"tiers_hybrid",
     {"groups.state.every=8", "groups.state.capacity=96", "tiers.host.capacity=256",
      "tiers.storage.in={ sim_storage: { capacity: 1MiB } }"}},
    {"tiers_slots",
     {"store={ host: { layers: 1, streams: { k: 4 } } }", "tiers.host.capacity=256",
      "tiers.storage.in={ sim_storage: { capacity: 1MiB } }"}},
    {"tiers_redis",
     {"store={ host: { layers: 1, streams: { k: 4 } } }", "tiers.host.capacity=256",
      "tiers.storage={ write: through, in: { sim_storage: { capacity: 1MiB } } }"}},
};

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(kSourceFolder) + "/configs/engines/" + file + ".yaml");
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint32_t row_of(Token token) { return token * 7919 + 13; }
Rows rows_at(std::uint32_t* place) {
  Rows rows;
  rows.streams[0] = reinterpret_cast<std::byte*>(place);
  return rows;
}

/// A life of an engine, in which memory may be refused at any place.
class Life {
 public:
  Life(const Trial& trial, const std::string& policy) {
    std::vector<std::string> set = {"page_size=4", "groups.full.capacity=128", "segment_pages=8",
                                    "groups.full.eviction=" + policy};
    set.insert(set.end(), trial.also.begin(), trial.also.end());
    engine_ = engine_of(text_of(trial.file), set);
    has_rows_ = engine_->store(0) && engine_->store(0)->streams()[0].row_bytes == 4;
    other_ = *plugins().make<EvictionStrategy>("lfu", {});
    for (Token i = 0; i < 10; ++i) {
      std::vector<Token> prompt = tokens(i % 3 * 100 + 1, 9 + i % 4 * 4);
      for (Token token = 0; token < 9; ++token) prompt.push_back(10'000 + 100 * i + token);
      prompts_.push_back(std::move(prompt));
    }
    rows_.resize(64);
    for (const char* const tenant : {"acme", "batch", "another"})
      spaces_.push_back(trial.file == std::string("tenants") ? engine_->intern({.tenant = tenant})
                                                             : NamespaceId::shared);
  }

  void live() {
    Request before;
    NodeId pinned = NodeId::none;
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
      RequestSpec spec = arrival(prompts_[i]);
      spec.space = spaces_[i % spaces_.size()];
      Fetch fetch;
      if (engine_->tiers().has_host()) attempt([&] { fetch = engine_->tiers().fetch(spec); });
      for (int turns = 0; turns < 2; ++turns) attempt([&] { engine_->turn(now_us_ += 1'000); });
      Request request;
      attempt([&] { request = engine_->begin(spec, std::move(fetch)); });
      if (!request.ended()) serve(request, i);
      std::swap(before, request);  // it stays beside the next one
      if (i == 2) attempt([&] { engine_->resize(0, 12); });
      if (i == 4) attempt([&] { engine_->resize(0, 32); });
      if (i == 5) attempt([&] { thrown_ |= !engine_->use_policy(0, other_, "a name that needs memory of its own"); });
      if (i == 7) attempt([&] { engine_->resize(0, 16); });
      if (i % 3 == 1)
        attempt([&] {
          if (const NodeId node = engine_->find(arrival(prompts_[i])).node;
              pinned == NodeId::none && node != NodeId::none) {
            if (engine_->pin(node)) pinned = node;
            else thrown_ = true;
          }
        });
      if (i == 6 && pinned != NodeId::none)
        attempt([&] {
          if (engine_->unpin(std::exchange(pinned, NodeId::none))) return;
        });
      if (i == 8) attempt([&] { engine_->flush(spaces_[0]); });
      attempt([&] { engine_->make_free(0, i % 5); });
      attempt([&] { engine_->poll(); });
    }
    if (pinned != NodeId::none && !attempt([&] { engine_->unpin(pinned); })) engine_->unpin(pinned);
  }

  /// Results of a life: tokens that were found, and reservations that found no room.
  struct Decided {
    std::uint64_t hit_tokens = 0, denied = 0;
    bool operator==(const Decided&) const = default;
  };
  Decided decided() const { return {engine_->counters().hit_tokens, denied_}; }
  /// Returns true if the engine or a call has reported a lack of memory.
  bool has_reported() const {
    std::uint64_t failed = 0;  // records that a storage had no memory for
    for (const StorageLane lane : {StorageLane::find, StorageLane::get, StorageLane::put})
      failed += engine_->tiers().counters().at(Counter::records_storage, lane, Fate::failed);
    return thrown_ || failed > 0 || engine_->ledger().violations() > 0 || !engine_->doubts().empty();
  }

  /// Returns what is wrong after a life; empty: nothing.
  std::string flaw() {
    const Ledger& ledger = engine_->ledger();
    // A note for which there is no memory is a violation.
    for (const std::string& report : ledger.reports())
      if (report.find("std::bad_alloc") == std::string::npos && report.find("evicts in its place") == std::string::npos)
        return report;
    if (ledger.violations() > static_cast<std::uint64_t>(kMostInARow)) return "too many violations";
    if (!wrong_.empty()) return wrong_;
    const std::uint64_t violations = ledger.violations();
    for (int i = 0; i < 4; ++i) engine_->poll(), engine_->turn(now_us_ += 1'000'000);
    engine_->audit();
    if (ledger.violations() != violations) return "by the audit: " + ledger.reports().back();
    if (engine_->live_requests() != 0) return "a request lives on";
    // All pages come back, and everything can still be served.
    engine_->resize(0, 32);
    for (int round = 0; round < 2; ++round) {
      const auto prompt = tokens(50'000, 41);
      Request request = engine_->begin(arrival(prompt));
      if (!request.reserve(41)) return "a request finds no room";
      request.finish(41);
    }
    for (std::size_t space = 0; space < engine_->spaces(); ++space) engine_->flush(static_cast<NamespaceId>(space));
    for (std::size_t g = 0; g < engine_->groups(); ++g) {
      const PoolView pool = engine_->pool(g);
      if (engine_->index().sizes(g).protected_ != 0)
        return fmt::format("something stays locked{}{}", ledger.reports().empty() ? "" : ": ",
                           ledger.reports().empty() ? "" : ledger.reports()[0]);
      if (pool.free_pages() != pool.occupancy().capacity)
        return fmt::format("group {}: {} of {} pages are free", g, pool.free_pages(), pool.occupancy().capacity);
    }
    engine_->audit();
    return ledger.violations() == violations ? "" : "by the last audit: " + ledger.reports().back();
  }

 private:
  template <class Call>
  bool attempt(Call&& call) {
    try {
      call();
      return true;
    } catch (const std::bad_alloc&) {
      thrown_ = true;
      return false;
    }
  }
  bool reserve(Request& request, std::uint32_t until) {
    bool room = false;
    attempt([&] { room = request.reserve(until); });
    denied_ += !room;
    return room;
  }

  void serve(Request& request, std::size_t i) {
    const auto size = static_cast<std::uint32_t>(prompts_[i].size());
    compare(request);
    bool room = false;
    for (const std::uint32_t until : {8U, size}) {
      room = reserve(request, until);
      if (!room) break;
      write(request, until);
      attempt([&] { request.commit(until); });
    }
    if (i % 4 == 1) attempt([&] { request.rematch(); });
    if (room && attempt([&] { request.append(7); })) {
      room = reserve(request, size + 1);
      if (room) write(request, size + 1);
    }
    if (i % 3 == 2) {
      room = false;
      attempt([&] { request.retract(); });
      attempt([&] {
        request.resume();
        compare(request);
        room = reserve(request, size);
        if (room) write(request, size);
      });
    }
    if (i % 5 == 3) attempt([&] { request.abort(); });
    else if (i % 5 != 4) attempt([&] { request.finish(room ? size : 0); });
  }

  void compare(const Request& request) {
    if (!has_rows_ || request.matched() == 0) return;
    std::fill(rows_.begin(), rows_.end(), 0);
    request.read(0, 0, request.matched(), rows_at(rows_.data()));
    for (std::uint32_t t = 0; t < request.matched() && wrong_.empty(); ++t)
      if (rows_[t] != row_of(request.tokens()[t])) wrong_ = "rows of another prompt";
  }
  void write(Request& request, std::uint32_t until) {
    const std::uint32_t from = std::max(request.committed(), request.matched());
    if (!has_rows_ || until <= from) return;
    for (std::uint32_t t = from; t < until; ++t) rows_[t - from] = row_of(request.tokens()[t]);
    request.write(0, from, until - from, rows_at(rows_.data()));
  }

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<EvictionStrategy> other_;
  std::vector<std::vector<Token>> prompts_;
  std::vector<std::uint32_t> rows_;
  std::vector<NamespaceId> spaces_;
  std::uint64_t now_us_ = 0, denied_ = 0;
  bool has_rows_ = false, thrown_ = false;
  std::string wrong_;
};

/// Returns the policies whose order an engine's index can follow.
std::vector<std::string> policies_of(const Trial& trial) {
  const bool any = std::ranges::none_of(trial.also, [](const auto& one) { return one == "index=hash_chain"; });
  if (!any || std::string(trial.file) == "cache_off") return {"lru"};
  return names_of<EvictionStrategy>();
}

/// Lives of the engines, with memory refused at places that differ between policies; at every place, which takes
/// minutes, with CANOPY_REFUSALS=all.
void refuse_in(const std::vector<Trial>& trials) {
  const char* const effort = std::getenv("CANOPY_REFUSALS");
  const bool all = effort && std::string(effort) == "all";
  constexpr long kLives = 24;  // lives of an engine with one policy
  long lives = 0, drawn = 0;
  for (const Trial& trial : trials)
    for (const std::string& policy : policies_of(trial)) {
      const std::string file = trial.file;
      CAPTURE(file);
      CAPTURE(policy);
      long places = 0;
      Life::Decided decided;
      {
        Life life(trial, policy);
        RefusedMemory::count();
        life.live();
        places = RefusedMemory::made();
        RefusedMemory::stop();
        decided = life.decided();
        REQUIRE(life.flaw() == "");
      }
      const long combinations = places * kMostInARow;
      const long step = all ? 1 : (combinations / kLives) | 1;  // odd: no number of refusals is left out
      for (long at = all ? 0 : drawn++ % step; at < combinations; at += step, ++lives) {
        const long place = at / kMostInARow, in_a_row = at % kMostInARow + 1;
        CAPTURE(place);
        CAPTURE(in_a_row);
        Life life(trial, policy);
        RefusedMemory::refuse(place, in_a_row);
        life.live();
        CHECK(RefusedMemory::stop() > 0);
        // A figure that differs is one that comes with a word.
        CHECK((life.has_reported() || life.decided() == decided));
        const std::string flaw = life.flaw();
        CHECK_MESSAGE(flaw.empty(), flaw);
      }
    }
  MESSAGE(lives, " lives");
}

}  // namespace

TEST_CASE("refused memory: an engine loses no page, mixes no rows and goes on, for up to eight refusals in a row") {
  refuse_in(kTrials);
}

TEST_CASE("refused memory: nor does an engine with tenants or tiers") { refuse_in(kTiered); }

TEST_CASE("refused memory: what a component did is reported in full where there is none at all") {
  Ledger upper, ledger;
  ledger.report_to(upper, "host tier: ");
  struct Full final : std::exception {
    const char* what() const noexcept override { return "a table of it, which is named at some length, is full"; }
  };
  struct Throws final : EvictionStrategy {
    Rank rank(const NodeFacts&) override { throw std::bad_alloc(); }
    void cleared() override { throw Full(); }
  };
  const Port<EvictionStrategy> port(std::make_shared<Throws>(), "eviction strategy 'throws' (of a test)", ledger);
  const auto report = [&] {
    port.call("cleared", &EvictionStrategy::cleared);
    for (int i = 0; i < 9; ++i) port.call("rank", &EvictionStrategy::rank, NodeFacts{});
  };
  std::set_terminate([] { std::_Exit(70); });  // a message of its own would need memory
  RefusedMemory::refuse(0, 1'000'000);
  report();
  RefusedMemory::stop();
  std::set_terminate(nullptr);
  CHECK(ledger.violations() == 10);
  REQUIRE(upper.reports().size() == Ledger::kReports);
  CHECK(upper.reports()[0] ==
        "host tier: eviction strategy 'throws' (of a test), cleared: it threw: a table of it, which is named at some "
        "length, is full");
  CHECK(upper.reports()[7] == "host tier: eviction strategy 'throws' (of a test), rank: it threw: std::bad_alloc");
}

TEST_CASE("refused memory: a lower limit is reached later, and no page of the index is freed meanwhile") {
  for (const char* const index : {"radix", "hash_chain"}) {
    long refused = 1;
    for (long run = 0; refused > 0 || run % kMostInARow != 0; ++run) {
      const long place = run / kMostInARow, in_a_row = run % kMostInARow + 1;
      CAPTURE(index);
      CAPTURE(place);
      CAPTURE(in_a_row);
      const auto engine = engine_of(kSmall, {"segment_pages=4", "store={ host: { layers: 1, streams: { k: 4 } } }",
                                             std::string("index=") + index});
      const auto gone = tokens(1, 29), stays = tokens(1'000, 29);
      {
        // Pages of two prompts alternate, and one of them leaves.
        Request first = engine->begin(arrival(gone)), second = engine->begin(arrival(stays));
        for (std::uint32_t end = 4; end <= 28; end += 4) REQUIRE((first.reserve(end) && second.reserve(end)));
        std::vector<std::uint32_t> rows;
        for (const Token token : stays) rows.push_back(row_of(token));
        second.write(0, 0, 28, rows_at(rows.data()));
        first.finish(28), second.finish(28);
      }
      engine->make_free(0, 16 - 7);
      RefusedMemory::refuse(place, in_a_row);
      try {
        engine->resize(0, 8);
      } catch (const std::bad_alloc&) {
        engine->resize(0, 8);
      }
      refused = RefusedMemory::stop();
      const std::uint64_t violations = engine->ledger().violations();
      for (const std::string& report : engine->ledger().reports()) CHECK(report.find("bad_alloc") != std::string::npos);
      engine->audit();
      CHECK(engine->ledger().violations() == violations);
      for (int i = 0; i < 40; ++i) engine->poll();
      CHECK_FALSE(engine->pool(0).draining());
      CHECK(engine->pool(0).offered() == 8);
      std::vector<std::uint32_t> found(28);
      Request again = engine->begin(arrival(stays));
      REQUIRE(again.matched() == 28);
      again.read(0, 0, 28, rows_at(found.data()));
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == row_of(stays[i]));
      again.abort();
      engine->audit();
      CHECK(engine->ledger().violations() == violations);
    }
  }
}

TEST_CASE("refused memory: what leaves the host tier early is written, not kept or dropped") {
  std::uint64_t most_dropped = 0;
  long refused = 1;
  for (long run = 0; refused > 0 || run % kMostInARow != 0; ++run) {
    CAPTURE(run);
    const auto engine = stored_engine({"tiers.storage.in={ by_hand: { at_once: true } }"});
    leave(*engine, tokens(100, 41));
    engine->make_free(0, 16);
    RefusedMemory::refuse(run / kMostInARow, run % kMostInARow + 1);
    std::uint64_t now = 0;
    for (int turns = 0; turns < 3; ++turns) try {
        engine->turn(++now);
      } catch (const std::bad_alloc&) {  // it goes on in the next one
      }
    refused = RefusedMemory::stop();
    for (int turns = 0; turns < 4; ++turns) engine->turn(++now);
    const CounterValues counters = engine->tiers().counters();
    const std::uint64_t dropped = counters[Counter::dropped_tokens_storage];
    CHECK(counters[Counter::written_tokens_storage] + counters[Counter::unkept_tokens_storage] + dropped ==
          state_of(*engine).below->counters.evicted_tokens);
    most_dropped = std::max(most_dropped, dropped);
  }
  CHECK(most_dropped > 0);
}

TEST_CASE("refused memory: an audit that cannot walk the index calls no page ownerless") {
  for (const char* const index : {"radix", "hash_chain"}) {
    const auto engine = engine_of(kSmall, {std::string("index=") + index});
    Request request = engine->begin(arrival(tokens(1, 28)));
    REQUIRE(request.reserve(28));
    request.commit(20);
    long refused = 1;
    for (long place = 0; refused > 0; ++place) {
      RefusedMemory::refuse(place, kMostInARow);
      try {
        engine->audit();
      } catch (const std::bad_alloc&) {  // no memory for its own counts: it has looked at nothing
      }
      refused = RefusedMemory::stop();
    }
    CHECK(engine->ledger().violations() > 0);  // that the index threw
    for (const std::string& report : engine->ledger().reports())
      CHECK_MESSAGE(report.find("std::bad_alloc") != report.npos, report);
  }
}

TEST_CASE("refused memory: room for words that a codec does not get is no fault of the codec") {
  const Registry registry = registry_with(kFlipped);
  EngineConfig config;
  config.page_size = 4;
  config.key.name = "flipped";
  config.groups = {{.name = "full", .capacity = 64, .allocator = {"free_list"}, .eviction = {"lru"}}};
  int thrown = 0;
  long refused = 1;
  for (long place = 0; refused > 0; ++place) {
    CAPTURE(place);
    const auto engine = Engine::create(config, registry);
    REQUIRE(engine);
    const auto prompt = tokens(1, 20);
    RefusedMemory::refuse(place, 1);
    try {
      Request request = (*engine)->begin(arrival(prompt));
      if (request.reserve(20)) request.finish(20);
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    refused = RefusedMemory::stop();
    for (const std::string& report : (*engine)->ledger().reports())
      CHECK_MESSAGE(report.find("key codec") == report.npos, report);
    Request again = (*engine)->begin(arrival(prompt));
    REQUIRE(again.reserve(20));
    again.finish(20);
    CHECK((*engine)->begin(arrival(prompt)).matched() == 16);
    (*engine)->audit();
  }
  CHECK(thrown > 0);
}

TEST_CASE("refused memory: a storage that cannot flush a namespace is left, whatever its name") {
  const auto engine = stored_engine();
  const NamespaceId space = engine->intern({.tenant = "(a name that is shown in marks, and is longer than a string"});
  ByHand::throws = true;
  RefusedMemory::refuse(0, kMostInARow);
  engine->flush(space);
  RefusedMemory::stop();
  ByHand::throws = false;
  REQUIRE(engine->ledger().violations() > 0);  // there was no memory for the note
  CHECK(engine->ledger().reports().back().find("could not flush namespace") != std::string::npos);
}

TEST_CASE("refused memory: a put that cannot be sent ends, while the eviction that made it has more to put") {
  auto document = parse_yaml(std::string(kSmall) +
                                 "model: { name: m, revision: r, dtype: bf16 }\n"
                                 "tiers: { host: { capacity: 48 }, storage: { in: { sim_storage: {} } } }\n",
                             "test");
  auto config = read_engine_config(*document, plugins());
  REQUIRE(config);
  config->storage_tier.kept_free_percent = 90;
  const auto lacked = [](const Engine& engine) { return state_of(engine).lacked; };
  std::uint64_t left_out = 0;
  long refused = 1;
  for (long run = 0; refused > 0 || run % kMostInARow != 0; ++run) {
    CAPTURE(run);
    const auto engine = Engine::create(*config, plugins());
    REQUIRE(engine);
    for (Token first : {1U, 1'000U, 2'000U}) {
      const auto prompt = tokens(first, 13);
      Request request = (*engine)->begin(arrival(prompt));
      REQUIRE(request.reserve(13));
      request.finish(13);
    }
    (*engine)->make_free(0, 16);  // three copies begin, which arrive at the turn
    RefusedMemory::refuse(run / kMostInARow, run % kMostInARow + 1);
    (*engine)->turn(1'000'000);
    refused = RefusedMemory::stop();
    left_out += lacked(**engine);
    (*engine)->turn(2'000'000);
    (*engine)->audit();
    for (const std::string& report : (*engine)->ledger().reports())
      CHECK_MESSAGE(report.find("threw: std::bad_alloc") != report.npos, report);
  }
  CHECK(left_out > 0);
}

TEST_CASE("refused memory: while a lower limit is not reached, nothing is admitted that has no room below it") {
  long refused = 1;
  bool above = false;
  for (long place = 0; refused > 0; ++place) {
    CAPTURE(place);
    const auto engine = engine_of(kSmall, {"segment_pages=4"});
    Request runs = engine->begin(arrival(tokens(1, 28)));
    REQUIRE(runs.reserve(28));
    RefusedMemory::refuse(place, kMostInARow);
    engine->resize(0, 8);
    refused = RefusedMemory::stop();
    above |= engine->pool(0).offered() > 8;
    CHECK(engine->admits(arrival(tokens(1'000, 12))).verdict == Admission::Verdict::wait);
  }
  CHECK(above);
}

TEST_CASE("refused memory: an allocator takes back every page that it handed out, and loses none") {
  for (const std::string& name : names_of<SlotAllocator>())
    for (long run = 0; run < 60 * kMostInARow; ++run) {
      CAPTURE(name);
      CAPTURE(run);
      const auto allocator = *plugins().make<SlotAllocator>(name, {8});
      Random random(static_cast<std::uint64_t>(run));
      std::vector<Page> out;
      out.reserve(64);
      std::array<bool, 8> offered{};
      RefusedMemory::refuse(run / kMostInARow, run % kMostInARow + 1);
      for (int step = 0; step < 120; ++step) {
        const std::uint32_t dice = random.below(10), i = random.below(8);
        const Occupancy before = allocator->occupancy();
        const auto unchanged = [&] {
          CHECK(allocator->occupancy().capacity == before.capacity);
          CHECK(allocator->occupancy().free == before.free);
        };
        if (dice < 2) {
          try {
            if (offered[i]) allocator->withdraw({8 * i, 8});
            else allocator->offer({8 * i, 8});
            offered[i] = !offered[i];
          } catch (const std::bad_alloc&) {
            unchanged();
          }
        } else if (dice < 6) {
          std::array<Page, 5> more{};
          if (before.free >= 5 && allocator->allocate(more)) out.insert(out.end(), more.begin(), more.end());
          else unchanged();
        } else if (out.size() >= 3) {
          std::array<Page, 3> back{};
          for (Page& page : back) {
            std::swap(out[random.below(static_cast<std::uint32_t>(out.size()))], out.back());
            page = out.back();
            out.pop_back();
          }
          REQUIRE(allocator->free(back));
        }
      }
      RefusedMemory::stop();
      REQUIRE(allocator->free(out));
      for (std::uint32_t i = 0; i < 8; ++i)
        if (!offered[i]) allocator->offer({8 * i, 8});
      CHECK(allocator->occupancy().free == 63);
      std::vector<Page> all(63);
      REQUIRE(allocator->allocate(all));
      std::ranges::sort(all);
      for (Page page = 1; page < 64; ++page) CHECK(all[page - 1] == page);
    }
}
