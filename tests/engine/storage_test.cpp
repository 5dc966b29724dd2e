/// An engine over a storage whose calls the test ends by hand.
#include <canopy/page_storage.h>
#include <canopy/plugin.h>
#include <support/engines.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Keeps records in memory, and ends calls when it is told to.
class ByHand final : public PageStorage {
 public:
  struct Config {
    void visit(Options&) {}
  };
  struct Call {
    std::uint64_t ticket = 0;
    char kind = ' ';
    std::vector<PageKey> keys;
    std::vector<std::byte*> to;
    std::vector<const std::byte*> from;
    std::vector<Fate> fates;
  };
  /// The one of the engine that was made last.
  static inline ByHand* last = nullptr;
  static inline bool throws = false, lies = false;

  ByHand(const Config&, const Context& context) : context_(context) { last = this; }

  void find(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::uint64_t) override {
    if (throws) throw std::runtime_error("no");
    begun.push_back({ticket, 'f', {keys.begin(), keys.end()}, {}, {}, {}});
  }
  void get(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::span<std::byte* const> records,
           std::uint64_t) override {
    begun.push_back({ticket, 'g', {keys.begin(), keys.end()}, {records.begin(), records.end()}, {}, {}});
  }
  void put(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t, std::uint32_t) override {
    begun.push_back({ticket, 'p', {keys.begin(), keys.end()}, {}, {records.begin(), records.end()}, {}});
  }
  void remove(const PageKey&, std::span<const PageKey> keys) override {
    for (const PageKey& key : keys) kept.erase(key.bits), ++removed;
  }
  bool flush(const PageKey&) override { return kept.clear(), reachable; }

  /// All calls of a kind do their work, and are told by the next poll.
  void end(char kind, Fate fate = Fate::done) {
    const auto of_kind = [&](const Call& call) { return call.kind == kind; };
    for (Call& call : begun)
      if (of_kind(call)) ended.push_back({run(call, fate), std::move(call)});
    std::erase_if(begun, of_kind);
  }
  std::size_t poll(std::span<StorageDone> done) override {
    told_.clear();
    std::size_t count = 0;
    for (auto& [one, call] : ended) {
      told_.push_back(std::move(call));
      done[count] = one;
      done[count++].fates = told_.back().fates;
    }
    ended.clear();
    if (std::exchange(lies, false)) done[count++] = {4711, Fate::done, 3, {}};
    return count;
  }
  StorageTraits traits() const override { return {.batch = 4}; }
  StorageUse use() const override { return {}; }

  std::map<std::array<std::uint64_t, 4>, std::vector<std::byte>> kept;
  std::vector<Call> begun;
  std::vector<std::pair<StorageDone, Call>> ended;
  std::size_t removed = 0;
  bool reachable = true;

 private:
  StorageDone run(Call& call, Fate fate) {
    StorageDone done{call.ticket, fate, 0, {}};
    if (call.kind == 'f') {
      while (fate == Fate::done && done.found < call.keys.size() && kept.contains(call.keys[done.found].bits))
        ++done.found;
      return done;
    }
    call.fates.assign(call.keys.size(), fate);
    for (std::size_t i = 0; fate == Fate::done && i < call.keys.size(); ++i) {
      auto& record = kept[call.keys[i].bits];
      if (call.kind == 'p') record.assign(call.from[i], call.from[i] + context_.record_bytes);
      else std::ranges::copy(record, call.to[i]);
    }
    return done;
  }

  Context context_;
  std::deque<Call> told_;
};

constexpr CanopyComponent kOwn[] = {provide<PageStorage, ByHand>("by_hand", "ends calls when a test says so")};
constexpr CanopyPlugin kOwnPlugin{kPluginMagic, sizeof(CanopyPlugin),    CANOPY_TOOLCHAIN, "0.1.0",
                                  kOwn,         sizeof(CanopyComponent), std::size(kOwn)};

const Registry& registry() {
  static const Registry all = [] {
    Registry some;
    some.scan(own_plugin_folder(), Trust::as_ourselves);
    some.add(kOwnPlugin, "by hand");
    return some;
  }();
  return all;
}

/// 16 pages of 4 tokens, a host tier of 12 pages of which half is kept free, and a storage in real time.
std::unique_ptr<Engine> stored_engine(const std::vector<std::string>& changes = {}) {
  auto document = parse_yaml(std::string(kSmall) +
                                 "model: { name: m, revision: r, dtype: bf16 }\n"
                                 "tiers: { host: { capacity: 48 }, storage: { in: by_hand, ahead: 50 } }\n",
                             "test");
  for (const std::string& change : changes) REQUIRE(set_value(*document, change));
  auto config = read_engine_config(*document, registry());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  auto engine = Engine::create(*config, registry());
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
  return std::move(*engine);
}

void leave(Engine& engine, const std::vector<Token>& prompt) {
  Request request = engine.begin(arrival(prompt));
  REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
  request.finish(static_cast<std::uint32_t>(prompt.size()));
}

std::uint64_t in_host(const Engine& engine) {
  const Sizes sizes = engine.host_tier()->index->sizes(0);
  return sizes.evictable + sizes.protected_;
}
std::uint64_t brings(const Engine& engine, BringOutcome outcome) {
  return engine.storage_figures().brings[static_cast<std::size_t>(outcome)];
}

/// A prompt of ten pages is in the storage, and nowhere else.
std::vector<Token> put_down(Engine& engine, Token first = 100) {
  auto prompt = tokens(first, 41);
  leave(engine, prompt);
  engine.make_free(0, 16);
  engine.turn(1);
  ByHand::last->end('p');
  engine.turn(1);
  REQUIRE(in_host(engine) == 0);
  REQUIRE(ByHand::last->kept.size() == 10);
  return prompt;
}

}  // namespace

TEST_CASE("storage: pages are moving until a put has ended, and until a get has, whatever the storage does meanwhile") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);  // ten pages have come to the host tier, of which six are to be free: four leave, as one node does
  CHECK(in_host(*engine) == 0);
  CHECK(engine->host_tier()->moving[0] == 10);
  CHECK(storage.begun.size() == 3);  // of four records at most
  CHECK(engine->in_real_time());
  storage.end('p');
  CHECK(engine->host_tier()->moving[0] == 10);  // nothing changes outside turn()
  engine->turn(2);
  CHECK(engine->host_tier()->moving[0] == 0);
  CHECK(engine->storage_figures().written_tokens == 40);
  CHECK(engine->next_end_us() == kUnlimited);

  Fetch fetch = engine->fetch(arrival(prompt));
  CHECK_FALSE(fetch.done());
  storage.end('f');
  CHECK(engine->host_tier()->moving[0] == 0);
  engine->turn(3);
  CHECK(engine->host_tier()->moving[0] == 10);
  CHECK(engine->begin(arrival(prompt)).matched() == 0);  // it does not wait
  storage.end('g');
  CHECK(in_host(*engine) == 0);
  engine->turn(4);
  CHECK(engine->storage_figures().read_tokens == 40);
  engine->turn(5);
  CHECK(fetch.done());
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 40);
  CHECK(engine->counters().hit_tokens_storage == 40);
  CHECK(engine->counters().hit_tokens_host == 0);
  CHECK(brings(*engine, BringOutcome::whole) == 1);
  storage.end('p');
  engine->turn(6);
  check_settled(*engine);
}

TEST_CASE(
    "storage: what continues a prefix that the pools alone have is brought, and the prefix is copied down for it") {
  const auto engine = stored_engine({"tiers.host.latency=100"});
  ByHand& storage = *ByHand::last;
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(100);
  storage.end('p');
  engine->turn(101);
  REQUIRE(storage.kept.size() == 10);
  REQUIRE(in_host(*engine) == 0);
  leave(*engine, {prompt.begin(), prompt.begin() + 20});
  Fetch fetch = engine->fetch(arrival(prompt));
  REQUIRE(storage.begun.size() == 1);
  CHECK(storage.begun[0].keys.size() == 5);
  storage.end('f');
  engine->turn(200);
  CHECK(engine->host_tier()->moving[0] == 10);  // five come down, and five from the storage
  storage.end('g');
  engine->turn(201);
  CHECK(in_host(*engine) == 0);
  CHECK(engine->host_tier()->moving[0] == 10);  // the five from the storage wait
  CHECK(engine->next_end_us() == 300);
  engine->turn(300);
  CHECK(in_host(*engine) == 40);
  engine->turn(400);
  REQUIRE(fetch.done());
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 40);
  CHECK(engine->counters().hit_tokens_storage == 20);
  CHECK(engine->counters().hit_tokens_host == 0);
  storage.end('p');
  engine->turn(500);
  check_settled(*engine);
}

TEST_CASE("storage: written through, pages stay in the host tier, under a lock until the put has ended") {
  const auto engine = stored_engine({"tiers.storage.write=through"});
  ByHand& storage = *ByHand::last;
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);
  const PrefixIndex& index = *engine->host_tier()->index;
  CHECK(storage.begun.size() == 3);  // of four records at most
  CHECK(index.sizes(0).protected_ == 40);
  CHECK(engine->host_tier()->moving[0] == 0);
  {
    const Fetch fetch = engine->fetch(arrival(prompt));  // others may read them meanwhile
    engine->turn(2);
    CHECK(engine->begin(arrival(prompt)).matched() == 40);
  }
  storage.end('p');
  CHECK(index.sizes(0).protected_ == 40);
  engine->turn(3);
  CHECK(index.sizes(0).protected_ == 0);
  CHECK(in_host(*engine) == 40);
  CHECK(storage.kept.size() == 10);
  CHECK(engine->storage_figures().written_tokens == 40);

  // What continues it is put alone.
  auto longer = prompt;
  for (Token more = 0; more < 8; ++more) longer.push_back(more);
  leave(*engine, longer);
  engine->make_free(0, 16);
  engine->turn(4);
  REQUIRE(storage.begun.size() == 1);
  CHECK(storage.begun[0].keys.size() == 2);
  storage.end('p');
  engine->turn(5);
  CHECK(storage.kept.size() == 12);
  // What leaves the host tier is there, so nothing is put and nothing is lost.
  leave(*engine, tokens(700, 33));
  engine->make_free(0, 16);
  engine->turn(6);
  CHECK(in_host(*engine) == 32);
  CHECK(engine->storage_figures().dropped_tokens == 0);
  CHECK(storage.begun.size() == 2);
  storage.end('p', Fate::full);
  engine->turn(7);
  CHECK(engine->storage_figures().unkept_tokens == 32);
  // What was refused is put again with what continues it.
  auto refused = tokens(700, 33);
  for (Token more = 0; more < 4; ++more) refused.push_back(more);
  leave(*engine, refused);
  engine->make_free(0, 16);
  engine->turn(8);
  REQUIRE(storage.begun.size() == 3);
  storage.end('p');
  engine->turn(9);
  CHECK(storage.kept.size() == 21);
  check_settled(*engine);
}

TEST_CASE("storage: written through, a flush takes what is being put as well") {
  const auto engine = stored_engine({"tiers.storage.write=through"});
  ByHand& storage = *ByHand::last;
  leave(*engine, tokens(100, 41));
  engine->make_free(0, 16);
  engine->turn(1);
  engine->flush(arrival(tokens(100, 41)).space);
  CHECK(in_host(*engine) == 40);  // the storage reads it
  storage.end('p');
  engine->turn(2);
  CHECK(in_host(*engine) == 0);
  CHECK(storage.kept.empty());
  check_settled(*engine);
}

TEST_CASE("storage: what is late holds up no request, and its pages are kept until the storage has ended the call") {
  const auto engine = stored_engine({"tiers.storage.within=1000", "tiers.storage.find_within=500"});
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  {
    const Fetch asks = engine->fetch(arrival(prompt));
    engine->turn(400);
    CHECK_FALSE(asks.done());
    engine->turn(501);
    CHECK(asks.done());
    CHECK(brings(*engine, BringOutcome::late) == 1);
  }
  storage.end('f');
  engine->turn(502);
  const Fetch fetch = engine->fetch(arrival(prompt));
  storage.end('f');
  engine->turn(503);
  CHECK(engine->host_tier()->moving[0] == 10);
  engine->turn(1503);
  CHECK(fetch.done());
  CHECK(brings(*engine, BringOutcome::late) == 2);
  CHECK(engine->host_tier()->moving[0] == 10);  // the storage may still write there
  engine->audit();
  storage.end('g');
  engine->turn(1600);
  CHECK(engine->host_tier()->moving[0] == 0);
  CHECK(in_host(*engine) == 0);  // it came too late for its request
  check_settled(*engine);
}

TEST_CASE("storage: a record that is not the one that was put is a miss, and is removed") {
  for (const std::size_t damaged : {0U, 3U, 9U}) {
    CAPTURE(damaged);
    const auto engine = stored_engine();
    ByHand& storage = *ByHand::last;
    const auto prompt = put_down(*engine);
    const Fetch fetch = engine->fetch(arrival(prompt));
    storage.end('f');
    engine->turn(2);
    PageKey key;
    std::size_t seen = 0;
    for (const ByHand::Call& call : storage.begun)
      for (const PageKey& one : call.keys)
        if (seen++ == damaged) key = one;
    storage.kept[key.bits][4096 + 17] ^= std::byte{4};
    storage.end('g');
    engine->turn(3);
    CHECK(in_host(*engine) + engine->host_tier()->moving[0] * 4 == damaged * 4);
    engine->turn(4);
    CHECK(engine->storage_figures().damaged_records == 1);
    CHECK(storage.removed == 1);
    CHECK_FALSE(storage.kept.contains(key.bits));
    CHECK(brings(*engine, BringOutcome::damaged) == 1);
    CHECK(engine->begin(arrival(prompt)).matched() == damaged * 4);
    CHECK(engine->ledger().violations() == 0);
  }
}

TEST_CASE("storage: a flush takes what is on its way from it, and says if it cannot be promised") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  const Fetch fetch = engine->fetch(arrival(prompt));
  storage.end('f');
  engine->turn(2);
  const auto kept = storage.kept;
  engine->flush(NamespaceId::shared);
  CHECK(storage.kept.empty());
  storage.kept = kept;
  storage.end('g');
  engine->turn(3);
  CHECK(fetch.done());
  CHECK(in_host(*engine) == 0);
  CHECK(engine->state().notes.empty());
  storage.reachable = false;
  engine->flush(NamespaceId::shared);
  REQUIRE(engine->state().notes.size() == 1);
  CHECK(engine->state().notes[0].starts_with("namespace 'shared' was flushed while its storage was out of reach"));
  check_settled(*engine);
}

TEST_CASE("storage: what is put counts against the budget, until time has passed") {
  const auto engine = stored_engine({"tiers.storage.budget=16384"});  // of two records
  put_down(*engine);
  leave(*engine, tokens(500, 41));
  engine->make_free(0, 16);
  engine->turn(1);
  CHECK(in_host(*engine) == 40);
  CHECK(ByHand::last->begun.empty());
  engine->turn(1'000'001);
  CHECK_FALSE(ByHand::last->begun.empty());
  ByHand::last->end('p');
  engine->turn(1'000'002);
  check_settled(*engine);
}

TEST_CASE("storage: a fetch waits no longer than computing takes, and what comes later is there for others") {
  const auto engine = stored_engine({"tiers.recompute.per_token=10000"});  // 40 tokens: 400 us
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  Fetch fetch = engine->fetch(arrival(prompt));
  storage.end('f');
  engine->turn(300);
  CHECK_FALSE(fetch.done());
  CHECK_FALSE(fetch.ready());
  engine->turn(401);
  CHECK(fetch.done());
  CHECK(engine->storage_figures().outwaited == 1);
  CHECK(engine->begin(arrival(prompt), std::move(fetch)).matched() == 0);
  storage.end('g');
  engine->turn(1100);
  CHECK(engine->storage_figures().read_tokens == 40);
  CHECK(brings(*engine, BringOutcome::whole) == 1);

  // It took 800 us: it is not worth it any more, until it is tried once again.
  const auto other = tokens(500, 41);
  int refused = 0;
  while (engine->fetch(arrival(other)).done() && refused < 100) ++refused;
  CHECK(refused == 31);
  CHECK(brings(*engine, BringOutcome::not_worth) == 31);
  storage.end('f');
  storage.end('p');
  engine->turn(2000);
  check_settled(*engine);
}

TEST_CASE("storage: what is on its way takes a share of the host tier, unless it comes alone") {
  for (const auto& [share, second] : {std::pair{"tiers.prefetch.share=25", 0}, {"tiers.prefetch.share=100", 2}}) {
    CAPTURE(share);
    const auto engine = stored_engine({share});
    ByHand& storage = *ByHand::last;
    const auto prompt = put_down(*engine), other = tokens(500, 41);
    leave(*engine, other);
    engine->make_free(0, 16);
    engine->turn(2);
    storage.end('p');
    engine->turn(3);
    REQUIRE(storage.kept.size() == 20);
    {
      const Fetch one = engine->fetch(arrival(prompt)), two = engine->fetch(arrival(other));
      storage.end('f');
      engine->turn(4);
      CHECK(engine->host_tier()->moving[0] == static_cast<std::uint64_t>(10 + second));
      CHECK(brings(*engine, BringOutcome::no_room) == (second == 0));
      storage.end('g');
      engine->turn(5);
    }
    storage.end('p');
    engine->turn(6);
    engine->turn(7);
    check_settled(*engine);
  }
}

TEST_CASE("storage: what is put is put behind what precedes it, so that what is there can be found") {
  const auto engine = stored_engine({"tiers.host.capacity=24"});
  ByHand& storage = *ByHand::last;
  auto prompt = tokens(100, 21);
  leave(*engine, prompt);
  for (std::size_t i = 16; i < prompt.size(); ++i) prompt[i] += 1000;
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);
  engine->turn(2);
  REQUIRE(storage.begun.size() == 3);  // what they share, and each one's own
  std::set<std::array<std::uint64_t, 4>> put;
  for (const ByHand::Call& call : storage.begun)
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
      PageKey before;  // as the record tells it
      std::memcpy(&before, call.from[i] + 64, sizeof before);
      CHECK((put.empty() || put.contains(before.bits)));
      put.insert(call.keys[i].bits);
    }
  CHECK(put.size() >= 3);
  storage.end('p');
  engine->turn(3);
  check_settled(*engine);
}

TEST_CASE("storage: after five failures it is not called, then on trial, and then as before") {
  const auto engine = stored_engine();
  ByHand& storage = *ByHand::last;
  const auto prompt = put_down(*engine);
  const auto asks = [&](Fate fate, std::uint64_t now) {
    const Fetch fetch = engine->fetch(arrival(prompt));
    const bool asked = !storage.begun.empty();
    storage.end('f', fate);
    engine->turn(now);
    storage.end('g');
    engine->turn(now);
    return asked;
  };
  for (std::uint64_t now = 2; now < 7; ++now) CHECK(asks(Fate::failed, now));
  CHECK(engine->storage_figures().breaks == 1);
  CHECK(engine->state().board.health.state == StorageState::open);
  CHECK_FALSE(asks(Fate::done, 1000));
  CHECK(brings(*engine, BringOutcome::refused) == 1);
  engine->turn(200'000);
  CHECK(engine->state().board.health.state == StorageState::half_open);
  storage.kept.clear();  // so that each is asked for again
  for (std::uint64_t now = 200'001; now < 200'004; ++now) {
    CHECK(engine->state().board.health.state == StorageState::half_open);
    CHECK(asks(Fate::done, now));
  }
  CHECK(engine->state().board.health.state == StorageState::closed);
  CHECK(engine->storage_figures().breaks == 1);
  check_settled(*engine);
}

TEST_CASE("storage: tenants, adapters and salts of one length are different ones") {
  const auto engine = stored_engine();
  const auto prompt = tokens(100, 41);
  const auto of = [&](const Space& tuple) {
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern(tuple);
    return spec;
  };
  Request request = engine->begin(of({"ab", "cd", "ef"}));
  REQUIRE(request.reserve(41));
  request.finish(41);
  engine->make_free(0, 16);
  engine->turn(1);
  ByHand::last->end('p');
  engine->turn(2);
  std::uint64_t now = 3, read = 0;
  const auto found = [&](const Space& tuple) {
    const Fetch fetch = engine->fetch(of(tuple));
    for (const char kind : {'f', 'g'}) {
      ByHand::last->end(kind);
      engine->turn(now++);
    }
    return engine->storage_figures().read_tokens - std::exchange(read, engine->storage_figures().read_tokens);
  };
  for (const Space& other : {Space{"ax", "cd", "ef"}, {"ab", "cx", "ef"}, {"ab", "cd", "ex"}}) CHECK(found(other) == 0);
  CHECK(found({"ab", "cd", "ef"}) == 40);
}

TEST_CASE("storage: another model, dtype, layout, tenant or salt finds nothing") {
  std::map<std::array<std::uint64_t, 4>, std::vector<std::byte>> kept;
  std::vector<Token> prompt;
  {
    const auto engine = stored_engine();
    prompt = put_down(*engine);
    kept = ByHand::last->kept;
  }
  const auto found = [&](const std::vector<std::string>& changes, const Space& tuple) {
    const auto engine = stored_engine(changes);
    ByHand::last->kept = kept;
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern(tuple);
    const Fetch fetch = engine->fetch(spec);
    ByHand::last->end('f');
    engine->turn(1);
    ByHand::last->end('g');
    engine->turn(2);
    return engine->storage_figures().read_tokens;
  };
  CHECK(found({}, {}) == 40);
  CHECK(found({"groups.full.eviction=slru"}, {}) == 40);
  for (const char* const change : {"model.name=n", "model.revision=s", "model.dtype=fp8", "model.extra=x",
                                   "model.ranks=2", "store.host.layers=4", "store.host.streams.k=16"})
    CHECK(found({change}, {}) == 0);
  CHECK(found({}, {"t", "", ""}) == 0);
  CHECK(found({}, {"", "a", ""}) == 0);
  CHECK(found({}, {"", "", "s"}) == 0);
}

TEST_CASE("storage: one that throws or lies is found out, and one that ends no call is left") {
  auto engine = stored_engine();
  ByHand::throws = true;
  const auto prompt = tokens(100, 41);
  {
    const Fetch fetch = engine->fetch(arrival(prompt));
    engine->turn(1);
    CHECK(fetch.done());
  }
  ByHand::throws = false;
  CHECK(brings(*engine, BringOutcome::failed) == 1);
  REQUIRE(engine->ledger().violations() == 1);
  CHECK(engine->ledger().reports()[0] == "page storage 'by_hand' (by hand), find: it threw: no");
  const Fetch asks = engine->fetch(arrival(prompt));
  ByHand::lies = true;
  engine->turn(2);
  REQUIRE(engine->ledger().violations() == 2);
  CHECK(engine->ledger().reports()[1].ends_with("poll: call 4711 ended, which was not on its way"));
  ByHand::last->end('f', static_cast<Fate>(200));
  engine->turn(3);
  REQUIRE(engine->ledger().violations() == 3);
  CHECK(engine->ledger().reports()[2].find("poll: the end of call") != std::string::npos);
  CHECK(brings(*engine, BringOutcome::failed) == 2);

  engine = stored_engine();
  leave(*engine, prompt);
  engine->make_free(0, 16);
  engine->turn(1);
  CHECK(engine->host_tier()->moving[0] == 10);
  engine->turn(40'000'000);
  CHECK(engine->host_tier()->moving[0] == 10);  // lost
  REQUIRE(engine->state().notes.size() == 1);
  CHECK(engine->state().notes[0] ==
        "page storage 'by_hand' (by hand) did not end a call 30 s after its time, and is not called any more");
  CHECK(engine->next_end_us() == kUnlimited);
  const Fetch refused = engine->fetch(arrival(prompt));
  CHECK(refused.done());
  CHECK(brings(*engine, BringOutcome::refused) == 1);
  engine->audit();
  CHECK(engine->ledger().violations() == 0);
}
