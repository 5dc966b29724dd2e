#include <map>
#include <set>
#include <unordered_set>

#include <support/engines.h>

using namespace canopy;
using namespace canopy::test;

// Facts that policies get and calls that they can make, on a running engine. Each policy could be a user's own file.

namespace {

/// Uses for each token that has been inserted since: a rank that falls while a node only waits.
struct HitDensity : EvictionStrategy {
  Rank rank(const NodeFacts& node) override {
    if (*node.tag == 0) *node.tag = node.clock.allocated;  // when it was first ranked
    const std::uint64_t age = 1 + node.clock.allocated - *node.tag;
    return {1'000'000 * (1 + node.hits) / age, node.last_access};
  }
  Volatility volatility() const override { return Volatility::epoch; }
};

/// The same, called only when a node's own facts change.
struct FrozenDensity final : HitDensity {
  Volatility volatility() const override { return Volatility::none; }
};

/// Remembers which prompts it has seen by the fingerprints of their prefixes, long after their pages have left, and
/// tags the path of a request that came again.
struct Ghosts final : EvictionStrategy {
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t came_again = 0;
  PolicyClock ended_at;

  Prints reads_prints() const override { return Prints::all; }
  void arrived(const RequestFacts& request) override { remember(request.prefix_prints, came_again); }
  void ended(const RequestFacts& request, Path& path) override {
    ended_at = request.clock;
    std::uint64_t again = 0;
    for (const std::uint64_t print : request.prefix_prints) again += times[print] > 1;
    if (again == 0) return;
    for (NodeFacts node; path.next(node);)
      if (node.begin < again * kPrintStride) *node.tag = 1;
  }
  Rank rank(const NodeFacts& node) override { return {*node.tag, node.last_access}; }

 private:
  void remember(std::span<const std::uint64_t> prints, std::uint64_t& again) {
    for (const std::uint64_t print : prints) {
      again += !seen.insert(print).second;
      ++times[print];
    }
  }
  std::map<std::uint64_t, int> times;
};

void serve(Engine& engine, const std::vector<Token>& prompt, std::uint64_t hints = 0) {
  RequestSpec spec = arrival(prompt, 0);
  spec.hints = hints;
  Request request = engine.begin(spec);
  REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
  request.finish(static_cast<std::uint32_t>(prompt.size()));
}

std::uint32_t resident(Engine& engine, const std::vector<Token>& prompt) {
  return engine.index().peek({NamespaceId::shared, prompt}).length;
}

const char* const kPool = R"(
page_size: 4
groups: { full: { reach: path, capacity: 4000, allocator: free_list, eviction: lru } }
)";

}  // namespace

TEST_CASE("policies: a rank that falls while a node only waits is looked at again as the pool turns over") {
  for (const bool drifts : {false, true}) {
    CAPTURE(drifts);
    const auto engine = engine_of(kPool);
    if (drifts) REQUIRE(engine->use_policy(0, std::make_shared<HitDensity>()));
    else REQUIRE(engine->use_policy(0, std::make_shared<FrozenDensity>()));
    const auto star = tokens(1, 400), steady = tokens(10'000, 400);
    for (int i = 0; i < 10; ++i) serve(*engine, star);  // yesterday's favourite
    Token fresh = 100'000;
    for (int i = 0; i < 150; ++i) serve(*engine, tokens(fresh += 1000, 400));
    serve(*engine, steady);
    serve(*engine, steady);  // two uses just now are denser than ten long ago
    for (int i = 0; i < 6; ++i) serve(*engine, tokens(fresh += 1000, 400));
    CHECK(resident(*engine, steady) == 400);
    CHECK(resident(*engine, star) == (drifts ? 0 : 400));
    check_settled(*engine);
  }
}

TEST_CASE("policies: ghosts by the fingerprints of prefixes know a prompt whose pages have left") {
  for (const bool ghosts : {false, true}) {
    CAPTURE(ghosts);
    const auto engine = engine_of(kPool);
    const auto policy = std::make_shared<Ghosts>();
    if (ghosts) REQUIRE(engine->use_policy(0, policy));
    const auto returning = tokens(1, 1024);
    Token fresh = 100'000;
    const auto scan = [&] {
      for (int i = 0; i < 5; ++i) serve(*engine, tokens(fresh += 2000, 1024));
    };
    serve(*engine, returning);
    scan();
    CHECK(resident(*engine, returning) == 0);
    serve(*engine, returning);  // it comes again: its pages had left, its fingerprints had not
    if (ghosts) CHECK(policy->came_again == 2);
    if (ghosts) CHECK(policy->ended_at.allocated == 7 * 1024);
    if (ghosts) CHECK(policy->ended_at.capacity == engine->pool(0).limit() * engine->page_size());
    scan();
    CHECK(resident(*engine, returning) == (ghosts ? 1024 : 0));
    check_settled(*engine);
  }
}

TEST_CASE(
    "policies: fingerprints name a prefix in its namespace, and are not computed for a policy that does not read "
    "them") {
  struct Reader final : EvictionStrategy {
    Prints reads = Prints::requests;
    std::vector<std::vector<std::uint64_t>> came;
    Rank rank(const NodeFacts& node) override { return {node.last_access, 0}; }
    Prints reads_prints() const override { return reads; }
    void arrived(const RequestFacts& request) override {
      came.emplace_back(request.prefix_prints.begin(), request.prefix_prints.end());
    }
  };
  const auto engine = engine_of(kPool);
  const auto policy = std::make_shared<Reader>();
  REQUIRE(engine->use_policy(0, policy));
  auto one = tokens(1, 1100), other = one;
  other[600] = 7;
  for (const auto& prompt : {one, other, tokens(1, 511)}) engine->begin(arrival(prompt));
  RequestSpec elsewhere = arrival(one);
  elsewhere.space = engine->intern({"tenant", "", ""});
  engine->begin(elsewhere);
  REQUIRE(policy->came.size() == 4);
  CHECK(policy->came[0].size() == 2);
  CHECK(policy->came[0][0] == policy->came[1][0]);
  CHECK(policy->came[0][1] != policy->came[1][1]);
  CHECK(policy->came[2].empty());
  CHECK(policy->came[3][0] != policy->came[0][0]);
  policy->reads = Prints::none;
  REQUIRE(engine->use_policy(0, policy));
  engine->begin(arrival(one));
  CHECK(policy->came[4].empty());
}

TEST_CASE("policies: one that throws is replaced by lru, also if that is its name") {
  struct Mru final : EvictionStrategy {
    Rank rank(const NodeFacts& node) override {
      if (++ranks == 7) throw std::runtime_error("enough");
      return {0, ~node.last_access};
    }
    int ranks = 0;
  };
  std::vector<std::vector<Page>> left;
  for (const char* const name : {"mru", "lru"}) {
    const auto engine = engine_of(kSmall);
    REQUIRE(engine->use_policy(0, std::make_shared<Mru>(), name));
    for (Token i = 0; i < 8; ++i) leave(*engine, tokens(1 + 100 * i, 8));
    engine->make_free(0, 8);
    REQUIRE(engine->doubts().size() == 1);
    CHECK(engine->doubts()[0].sentence.find("threw, and lru evicts in its place") != std::string::npos);
    std::vector<Page> stay;
    for (Token i = 0; i < 8; ++i)
      if (engine->begin(arrival(tokens(1 + 100 * i, 9))).matched() == 8) stay.push_back(i);
    left.push_back(stay);
  }
  CHECK(left[0] == std::vector<Page>{4, 5, 6, 7});
  CHECK(left[1] == left[0]);
}

TEST_CASE("policies: one that the index cannot follow is refused, and the engine keeps its own") {
  const auto engine = engine_of(
      "{page_size: 4, index: hash_chain, groups: {full: {capacity: 64, allocator: free_list, eviction: lru}}}");
  const auto newest = *plugins().make<EvictionStrategy>("mru", {});
  CHECK_FALSE(engine->use_policy(0, newest, "mru"));
  CHECK(engine->policy(0) == "lru");
  CHECK(newest.use_count() == 1);
  CHECK(engine->use_policy(0, *plugins().make<EvictionStrategy>("lru", {}), "my lru"));
  CHECK(engine->policy(0) == "my lru");
  CHECK(engine->ledger().violations() == 0);
}

TEST_CASE("policies: facts of which nothing was said are those of an empty pool without a limit") {
  for (const PolicyClock& clock : {PolicyClock(), NodeFacts().clock, RequestFacts().clock}) {
    CHECK(clock.allocated == 0);
    CHECK(clock.used == 0);
    CHECK(clock.capacity == kUnlimited);
    CHECK(clock.now == 0);
  }
}

TEST_CASE("policies: each request that arrives ends once under its id, however it ends") {
  struct Pairs final : EvictionStrategy {
    std::map<std::uint64_t, int> running;
    std::map<std::uint64_t, std::vector<Ending>> endings;
    std::map<std::uint64_t, std::uint32_t> output, prompts;
    Rank rank(const NodeFacts& node) override { return {node.last_access, 0}; }
    void arrived(const RequestFacts& request) override {
      CHECK(request.ending == Ending::none);
      CHECK(++running[request.id] == 1);
      prompts[request.id] = request.prompt;
    }
    void ended(const RequestFacts& request, Path&) override {
      CHECK(request.prompt == prompts[request.id]);
      CHECK(--running[request.id] == 0);
      endings[request.id].push_back(request.ending);
      output[request.id] = request.output;
    }
  };
  const auto engine = engine_of(kPool);
  const auto policy = std::make_shared<Pairs>();
  REQUIRE(engine->use_policy(0, policy));
  const auto prompt = tokens(1, 100);
  serve(*engine, prompt);
  std::vector<std::uint64_t> ids;
  {
    Request same = engine->begin(arrival(prompt)), again = engine->begin(arrival(prompt));
    Request dropped = engine->begin(arrival(tokens(5'000, 10))), gone = engine->begin(arrival(prompt));
    for (const Request* request : {&same, &again, &dropped, &gone}) ids.push_back(request->id());
    gone.retract();
    gone.abort();
    again.retract();
    again.resume();
    REQUIRE(again.reserve(103));
    for (Token token = 7; token < 10; ++token) again.append(token);
    again.finish(103);
    same.abort();
  }
  CHECK(ids.size() == std::set<std::uint64_t>(ids.begin(), ids.end()).size());
  CHECK(policy->endings[ids[0]] == std::vector{Ending::aborted});
  CHECK(policy->endings[ids[1]] == std::vector{Ending::retracted, Ending::finished});
  CHECK(policy->output[ids[1]] == 3);
  CHECK(policy->prompts[ids[1]] == 100);
  CHECK(policy->prompts[ids[2]] == 10);
  CHECK(policy->endings[ids[2]] == std::vector{Ending::aborted});
  CHECK(policy->endings[ids[3]] == std::vector{Ending::retracted});
  struct First final : NodeVisitor {
    NodeId id{};
    void node(const NodeView& node) override { id = node.facts.id; }
  } first;
  engine->index().visit(first);
  REQUIRE(engine->pin(first.id));
  REQUIRE(engine->unpin(first.id));
  CHECK(policy->endings[0].empty());  // a pin is no request
  for (const auto& [id, running] : policy->running) CHECK_MESSAGE(running == 0, id);
  check_settled(*engine);
}

TEST_CASE("policies: a prefix that leaves has the prints of the prompts that begin with it, and says why it left") {
  struct Leavers final : EvictionStrategy {
    std::vector<std::vector<std::uint64_t>> came, left;
    std::map<Cause, int> causes;
    Rank rank(const NodeFacts& node) override { return {node.last_access, 0}; }
    Prints reads_prints() const override { return Prints::all; }
    void arrived(const RequestFacts& request) override {
      came.emplace_back(request.prefix_prints.begin(), request.prefix_prints.end());
    }
    void evicted(const NodeFacts&, const Eviction& eviction) override {
      left.emplace_back(eviction.prefix_prints.begin(), eviction.prefix_prints.end());
      ++causes[eviction.cause];
    }
  };
  for (const char* const key : {"token", "bigram"}) {
    CAPTURE(key);
    const auto engine = engine_of(std::string(kPool) + "key: " + key + "\n");
    const auto policy = std::make_shared<Leavers>();
    REQUIRE(engine->use_policy(0, policy));
    const auto prompt = tokens(1, 1100);
    serve(*engine, prompt);
    auto branch = prompt;
    branch[700] = 7;
    serve(*engine, branch);
    serve(*engine, tokens(9'000, 100));
    engine->resize(0, 1000 / 4 + 25);  // 1,600 tokens are cached; the ends of both branches leave
    CHECK(policy->causes[Cause::limit] == 2);
    engine->flush(NamespaceId::shared);
    CHECK(policy->causes[Cause::flush] == 2);
    CHECK(policy->causes[Cause::room] == 0);
    REQUIRE(policy->left.size() >= 2);
    CHECK(policy->left[0] == policy->came[0]);
    CHECK(policy->left[1] == policy->came[1]);
    check_settled(*engine);
  }
}

TEST_CASE("policies: a tag set when a request ended decides the victim, also after the node was split") {
  struct Hinted final : EvictionStrategy {
    Rank rank(const NodeFacts& node) override { return {*node.tag, node.last_access}; }
    void ended(const RequestFacts& request, Path& path) override {
      for (NodeFacts node; path.next(node);) *node.tag = std::max(*node.tag, request.hints);
    }
  };
  const auto engine = engine_of(kPool);
  REQUIRE(engine->use_policy(0, std::make_shared<Hinted>()));
  const auto kept = tokens(1, 400);
  serve(*engine, kept, 9);
  auto branch = tokens(1, 200);
  branch.push_back(7);
  serve(*engine, branch);
  Token fresh = 100'000;
  for (int i = 0; i < 20; ++i) serve(*engine, tokens(fresh += 1000, 400), static_cast<std::uint64_t>(i % 8));
  CHECK(resident(*engine, kept) == 400);
  check_settled(*engine);
}

TEST_CASE("policies: tlru gives up first what a conversation may compute within its budget") {
  for (const bool tail_optimised : {false, true}) {
    CAPTURE(tail_optimised);
    const auto engine = engine_of(kPool);
    if (tail_optimised)
      REQUIRE(engine->use_policy(0, *plugins().make<EvictionStrategy>("tlru", {}, "{ threshold: 500, next_prompt: 100 }")));
    const auto old = tokens(1, 1000), young = tokens(50'000, 1200);
    serve(*engine, old);
    // In turns of 400: nodes end at 400, 800 and 1200, and 1200 + 100 - 500 = 800 are kept.
    for (std::size_t turn = 400; turn <= 1200; turn += 400)
      serve(*engine, std::vector<Token>(young.begin(), young.begin() + static_cast<std::ptrdiff_t>(turn)));
    REQUIRE(engine->make_free(0, (4000 - 2200 + 400) / 4));
    CHECK(resident(*engine, young) == (tail_optimised ? 800 : 1200));
    CHECK(resident(*engine, old) == (tail_optimised ? 1000 : 0));
    // Without its tail the conversation is worth no less: it was 1200 long.
    REQUIRE(engine->make_free(0, (4000 - 1000) / 4));
    CHECK(resident(*engine, young) == 800);
    CHECK(resident(*engine, old) == 0);
    check_settled(*engine);
  }
}

TEST_CASE("policies: all ten can take over from each other on a running engine, and none keeps the list of another") {
  const auto engine = engine_of(kPool);
  const auto held = tokens(1, 100);
  Request running = engine->begin(arrival(held));
  REQUIRE(running.reserve(100));
  running.commit(100);
  Token fresh = 1000;
  std::size_t taken = 0;
  for (int round = 0; round < 3; ++round)
    for (const std::string& name : plugins().names(EvictionStrategy::kInterface)) {
      auto policy = plugins().make<EvictionStrategy>(name, {});
      REQUIRE(policy);
      REQUIRE(engine->use_policy(0, *policy));
      policy->reset();  // only the engine has it now
      for (int i = 0; i < 12; ++i) serve(*engine, tokens(fresh += 1000, 400));
      ++taken;
    }
  CHECK(taken >= 30);
  CHECK(engine->counters().evicted_tokens > 100'000);
  running.finish(100);
  CHECK(resident(*engine, held) == 100);
  check_settled(*engine);
}
