#include <map>
#include <unordered_set>

#include <support/engines.h>

using namespace canopy;
using namespace canopy::test;

// What policies can learn and do, on a running engine: each of these could be a file of a user's own.

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

/// The same, asked only when a node's own facts change.
struct FrozenDensity final : HitDensity {
  Volatility volatility() const override { return Volatility::none; }
};

/// Remembers which prompts it has seen by the fingerprints of their prefixes, long after their pages have left, and
/// tags the path of a request that came again.
struct Ghosts final : EvictionStrategy {
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t came_again = 0, last_tag = 0;

  bool reads_prints() const override { return true; }
  void arrived(const RequestFacts& request) override { remember(request.prefix_prints, came_again); }
  void finished(const RequestFacts& request, Path& path) override {
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
  RequestSpec asked = arrival(prompt, 0);
  asked.hints = hints;
  Request request = engine.begin(asked);
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
    if (drifts) engine->use_policy(0, std::make_shared<HitDensity>());
    else engine->use_policy(0, std::make_shared<FrozenDensity>());
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
    if (ghosts) engine->use_policy(0, policy);
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
    scan();
    CHECK(resident(*engine, returning) == (ghosts ? 1024 : 0));
    check_settled(*engine);
  }
}

TEST_CASE(
    "policies: fingerprints name a prefix in its namespace, and are not computed for a policy that does not read "
    "them") {
  struct Reader final : EvictionStrategy {
    bool reads = true;
    std::vector<std::vector<std::uint64_t>> came;
    Rank rank(const NodeFacts& node) override { return {node.last_access, 0}; }
    bool reads_prints() const override { return reads; }
    void arrived(const RequestFacts& request) override {
      came.emplace_back(request.prefix_prints.begin(), request.prefix_prints.end());
    }
  };
  const auto engine = engine_of(kPool);
  const auto policy = std::make_shared<Reader>();
  engine->use_policy(0, policy);
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
  policy->reads = false;
  engine->use_policy(0, policy);
  engine->begin(arrival(one));
  CHECK(policy->came[4].empty());
}

TEST_CASE("policies: a tag set when a request ended decides the victim, also after the node was split") {
  struct Hinted final : EvictionStrategy {
    Rank rank(const NodeFacts& node) override { return {*node.tag, node.last_access}; }
    void finished(const RequestFacts& request, Path& path) override {
      for (NodeFacts node; path.next(node);) *node.tag = std::max(*node.tag, request.hints);
    }
  };
  const auto engine = engine_of(kPool);
  engine->use_policy(0, std::make_shared<Hinted>());
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

TEST_CASE("policies: all nine can take over from each other on a running engine, and none keeps the list of another") {
  const auto engine = engine_of(kPool);
  const auto held = tokens(1, 100);
  Request running = engine->begin(arrival(held));
  REQUIRE(running.reserve(100));
  running.commit(100);
  Token fresh = 1000;
  std::size_t taken = 0;
  for (int round = 0; round < 3; ++round)
    for (const std::string& name : plugins().names(EvictionStrategy::kInterface)) {
      auto policy = make_component<EvictionStrategy>({name, {}, {}}, plugins(), {});
      REQUIRE(policy);
      engine->use_policy(0, *policy);
      policy->reset();  // only the engine has it now
      for (int i = 0; i < 12; ++i) serve(*engine, tokens(fresh += 1000, 400));
      ++taken;
    }
  CHECK(taken >= 27);
  CHECK(engine->counters().evicted_tokens > 100'000);
  running.finish(100);
  CHECK(resident(*engine, held) == 100);
  check_settled(*engine);
}
