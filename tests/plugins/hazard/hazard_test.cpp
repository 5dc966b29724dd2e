#include <canopy/base/random.h>
#include <mirror/rank_text.h>

#include <cmath>
#include <map>
#include <utility>

#include <support/shared_folder.h>
#include "support.h"

using namespace canopy;
using namespace canopy::test;

namespace {

/// Another source's requests, with every time multiplied and other hints.
class Changed final : public workload::RequestSource {
 public:
  using Hints = std::uint64_t (*)(std::uint64_t number, std::uint64_t hints);
  Changed(std::unique_ptr<workload::RequestSource> inner, std::uint64_t times, Hints hints = nullptr)
      : inner_(std::move(inner)), times_(times), hints_(hints) {}
  Result<bool> next(workload::ClientRequest& request) override {
    auto more = inner_->next(request);
    request.arrival_ms *= times_;
    if (hints_) request.hints = hints_(number_++, request.hints);
    return more;
  }
  double progress() const override { return inner_->progress(); }

 private:
  std::unique_ptr<workload::RequestSource> inner_;
  std::uint64_t times_;
  Hints hints_;
  std::uint64_t number_ = 0;
};

/// Sessions of three turns, 20 at a time; the last turn of each says that it is the last.
class Sessions final : public workload::RequestSource {
 public:
  Result<bool> next(workload::ClientRequest& request) override {
    if (++number_ > 6'000) return false;
    Session& session = sessions_[random_.below(static_cast<std::uint32_t>(sessions_.size()))];
    if (session.turn == 0) session.first = static_cast<Token>(number_) * 10'000;
    ++session.turn;
    request = {};
    request.prompt = tokens(session.first, session.turn * 2'048);
    request.output_tokens = 100;
    if (session.turn == 3) request.hints = hint::kSessionEnded, session.turn = 0;
    return true;
  }
  double progress() const override { return static_cast<double>(number_) / 6'000; }

 private:
  struct Session {
    Token first = 0;
    std::uint32_t turn = 0;
  };
  std::vector<Session> sessions_ = std::vector<Session>(20);
  Random random_{4};
  std::uint64_t number_ = 0;
};

/// Nearly normal in its logarithm.
double lognormal(Random& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += random.below(1'000'000) / 1e6;
  return std::exp(2.6 * (sum - 2));
}

double two_paces(Random& random) { return (random.one_in(2) ? 1 : 6) + 0.2 * random.below(1'000'000) / 1e6; }

/// Conversations. Whether one goes on, and when, has nothing to do with how its request looks.
class ThinkTimes final : public workload::RequestSource {
 public:
  using Think = double (*)(Random&);
  explicit ThinkTimes(std::uint64_t seed, int conversations = 40, Think think = lognormal)
      : random_(seed), think_(think) {
    for (int i = 0; i < conversations; ++i) later_.emplace(think_(random_), Conversation{});
  }
  Result<bool> next(workload::ClientRequest& request) override {
    if (++number_ > kRequests) return false;
    const auto at = later_.begin();
    auto [now, one] = *at;
    later_.erase(at);
    if (one.strides == 0) one = {static_cast<Token>(number_) * 50'000, 1 + random_.below(19)};
    request = {};
    request.prompt = tokens(one.first, one.strides * 512);
    request.output_tokens = random_.one_in(2) ? 64 : 256;
    one.strides += random_.one_in(5) ? 1 + random_.below(17) : 1;
    if (one.strides > 40 || random_.one_in(10)) one.strides = 0;
    later_.emplace(now + think_(random_), one);
    return true;
  }
  double progress() const override { return static_cast<double>(number_) / kRequests; }

 private:
  static constexpr std::uint64_t kRequests = 6'000;
  struct Conversation {
    Token first = 0;
    std::uint32_t strides = 0;
  };
  Random random_;
  Think think_;
  std::multimap<double, Conversation> later_;
  std::uint64_t number_ = 0;
};

std::uint64_t hits(const std::string& policy, std::uint64_t capacity, workload::RequestSource& source,
                   const replay::Options& options = {}) {
  return run_through(*pool_of(capacity, policy), source, options).hit_tokens;
}

/// A policy that gets requests of one stride. 10,000 tokens are inserted between two, a hundredth of the pool.
struct Driven {
  std::shared_ptr<EvictionStrategy> policy = make<EvictionStrategy>("hazard", {});
  RequestFacts request{.prompt = 512, .output = 1, .ending = Ending::finished};
  Driven() { request.clock.capacity = 1'000'000; }

  /// Ends a request and returns the word that its node has then.
  std::uint64_t end(std::uint64_t print, std::uint64_t hints) {
    struct One final : Path {
      std::uint64_t tag = 0;
      bool more = true;
      bool next(NodeFacts& facts) override {
        facts = {.length = 512, .tag = &tag};
        return std::exchange(more, false);
      }
    } path;
    request.prefix_prints = {&print, 1};
    request.hints = hints;
    request.clock.allocated += 10'000, ++request.clock.now;
    policy->ended(request, path);
    return path.tag;
  }
  Rank rank(std::uint64_t tag, const std::uint64_t* parent = nullptr) {
    NodeFacts node{.length = 512, .last_access = request.clock.now, .clock = request.clock, .tag = &tag};
    node.parent_tag = parent;
    return policy->rank(node);
  }
  std::string words(std::uint64_t tag) {
    return inspector::rank_words(policy->describe().rank, rank(tag), request.clock.now + 10);
  }
};

}  // namespace

TEST_CASE("hazard: the reference hits on the conversation trace") {
  const auto trace = shared_file("traces/conversation_trace.jsonl");
  if (trace.empty()) return;
  struct Reference {
    std::uint64_t capacity;
    double hits, tolerance;
  };
  for (const auto& [capacity, wanted, tolerance] :
       {Reference{1'000'000, 16.25e6, 0.03}, Reference{3'000'000, 27.68e6, 0.03}, Reference{10'000'000, 44.32e6, 0.01},
        Reference{30'000'000, 53.38e6, 0.01}}) {
    CAPTURE(capacity);
    auto source = workload::open_trace(trace);
    REQUIRE(source);
    const auto report = run_through(*pool_of(capacity, "hazard", "sglang"), **source);
    CHECK(static_cast<double>(report.hit_tokens) == doctest::Approx(wanted).epsilon(tolerance));
  }
}

TEST_CASE("hazard: before anything is learned the order is lru's, whatever the requests were") {
  const auto policy = make<EvictionStrategy>("hazard", {});
  Random random(8);
  std::array<std::uint64_t, 100> tags{};
  std::vector<std::pair<Tick, Rank>> ranks;
  for (std::uint64_t& tag : tags) {
    NodeFacts node;
    node.tag = &tag, node.length = 16, node.created = 1;
    node.last_access = 1 + random.below(1'000'000);
    node.begin = random.below(100'000), node.hits = random.below(9);
    ranks.emplace_back(node.last_access, policy->rank(node));
  }
  for (const auto& [a, rank_a] : ranks)
    for (const auto& [b, rank_b] : ranks)
      if (a < b) CHECK(rank_a < rank_b);
}

TEST_CASE("hazard: a node counts as often used as the stride in its middle, which uses of its front do not change") {
  const auto policy = make<EvictionStrategy>("hazard", {});
  struct Nodes final : Path {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> strides;  // the first and the one behind the last
    std::vector<std::uint64_t> tags = std::vector<std::uint64_t>(8);
    std::size_t at = 0;
    bool next(NodeFacts& facts) override {
      if (at == strides.size()) return false;
      const auto [first, end] = strides[at];
      facts = {.begin = first * 512, .length = (end - first) * 512, .tag = &tags[at]};
      return ++at, true;
    }
  };
  RequestFacts request{.output = 1, .ending = Ending::finished};
  request.clock.capacity = 1'000'000;
  const auto end = [&](std::size_t strides, Nodes nodes) {
    std::vector<std::uint64_t> prints(strides);
    for (std::size_t i = 0; i < strides; ++i) prints[i] = 0x9E3779B97F4A7C15u * (i + 1);
    request.prefix_prints = prints, request.prompt = static_cast<std::uint32_t>(strides * 512);
    request.clock.allocated += 10'000, ++request.clock.now;
    policy->ended(request, nodes);
    return nodes.tags;
  };
  const auto nodes_of = [](std::vector<std::pair<std::uint32_t, std::uint32_t>> strides) {
    Nodes nodes;
    nodes.strides = std::move(strides);
    return nodes;
  };
  for (int uses = 0; uses < 3; ++uses) end(3, nodes_of({{0, 3}}));
  const auto tags = end(12, nodes_of({{0, 3}, {0, 6}, {6, 12}, {0, 5}, {2, 7}}));
  CHECK(tags[0] != tags[2]);
  CHECK(tags[1] == tags[2]);
  CHECK(tags[3] == tags[0]);  // the third of five strides
  CHECK(tags[4] == tags[2]);
}

TEST_CASE("hazard: four times as slow is the same run, request for request") {
  std::vector<std::uint64_t> digests;
  for (const std::uint32_t times : {1U, 4U}) {
    replay::Options options;
    options.mode = replay::Mode::timed;
    options.step_ms = 25 * times;
    Changed source(workload_of("chat.yaml"), times);
    digests.push_back(run_through(*pool_of(50'000, "hazard"), source, options).digest);
  }
  CHECK(digests[0] == digests[1]);
}

TEST_CASE("hazard: the same run twice has the same digest") {
  std::vector<std::uint64_t> digests;
  for (int i = 0; i < 2; ++i)
    digests.push_back(run_through(*pool_of(100'000, "hazard"), *workload_of("mixed.yaml")).digest);
  CHECK(digests[0] == digests[1]);
}

TEST_CASE("hazard: never more than one per cent below lru on the shipped workloads") {
  struct Run {
    const char* workload;
    std::vector<std::uint64_t> capacities;
  };
  for (const auto mode : {replay::Mode::serial, replay::Mode::timed})
    for (const auto& [name, capacities] :
         {Run{"chat.yaml", {20'000, 50'000, 100'000}}, Run{"agents.yaml", {10'000, 20'000, 50'000}},
          Run{"few_shot.yaml", {20'000, 100'000}}, Run{"batch_sweep.yaml", {20'000, 50'000}},
          Run{"rag.yaml", {50'000, 500'000}}, Run{"mixed.yaml", {50'000, 200'000}}})
      for (const std::uint64_t capacity : capacities) {
        CAPTURE(name);
        CAPTURE(capacity);
        replay::Options options;
        options.mode = mode;
        const auto lru = static_cast<double>(hits("lru", capacity, *workload_of(name), options));
        CHECK(static_cast<double>(hits("hazard", capacity, *workload_of(name), options)) >= 0.99 * lru);
      }
}

TEST_CASE("hazard: where nothing distinguishes the prefixes, it ignores the classes that chance makes") {
  double lru = 0, hazard = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    ThinkTimes first(seed), second(seed);
    lru += static_cast<double>(hits("lru", 50'000, first));
    hazard += static_cast<double>(hits("hazard", 50'000, second));
  }
  CHECK(hazard > 0.99 * lru);
}

TEST_CASE("hazard: in the pool that lru just needs it keeps to lru, and has what more room brings") {
  const auto against_lru = [](std::uint64_t capacity) {
    double lru = 0, hazard = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      ThinkTimes first(seed, 100, two_paces), second(seed, 100, two_paces);
      lru += static_cast<double>(hits("lru", capacity, first));
      hazard += static_cast<double>(hits("hazard", capacity, second));
    }
    return hazard / lru;
  };
  CHECK(against_lru(400'000) > 0.99);
  CHECK(against_lru(600'000) > 1.1);
}

TEST_CASE("hazard: of a loop that is larger than the pool it keeps a good part, where lru keeps nothing") {
  CHECK(hits("lru", 100'000, *workload_of("thrash.yaml")) == 0);
  CHECK(hits("hazard", 100'000, *workload_of("thrash.yaml")) > 1'500'000);
}

TEST_CASE("hazard: true hints of ended sessions bring hits, and made up ones cost hardly any") {
  constexpr std::uint64_t kCapacity = 60'000;
  const auto with = [&](Changed::Hints hints) {
    Changed source(std::make_unique<Sessions>(), 1, hints);
    return static_cast<double>(hits("hazard", kCapacity, source));
  };
  const double none = with([](std::uint64_t, std::uint64_t) -> std::uint64_t { return 0; });
  const double right = with(nullptr);
  const double random =
      with([](std::uint64_t number, std::uint64_t) { return splitmix64(number) & hint::kSessionEnded; });
  const double inverted = with([](std::uint64_t, std::uint64_t hints) { return hints ^ hint::kSessionEnded; });
  CHECK(right > 1.1 * none);
  Sessions again;
  CHECK(random > 0.9 * none);
  CHECK(random > 0.99 * static_cast<double>(hits("lru", kCapacity, again)));
  CHECK(inverted > 0.98 * right);  // it says as much as the right one
}

TEST_CASE("hazard: a rank says in words the class and the age, below the time of the last use") {
  Driven driven;
  const std::uint64_t hinted = driven.end(1, hint::kSessionEnded | hint::of_class(3));
  CHECK(driven.words(hinted) ==
        "0 hits expected per token and turnover, used 10 ticks ago; used once, below 640 new tokens, session "
        "ended, class 3; age from 0 turnovers; in lru's order");
  driven.request.output = 500, driven.request.prompt = 2048;
  for (int i = 0; i < 2; ++i) driven.end(2, 0);
  CHECK(driven.words(driven.end(2, 0)).find("used 3 to 5 times, 1,280 to 3,071 new tokens, long answer; age") !=
        std::string::npos);
  for (int i = 0; i < 2; ++i) driven.end(2, 0);
  const std::string often = driven.words(driven.end(2, 0));
  CHECK(often.find("used 10 ticks ago; used 6 to 15 times, any number of new tokens; age from 0 turnovers") !=
        std::string::npos);
  CHECK(!often.starts_with("0 hits"));
  CHECK(!often.ends_with("lru's order"));
  std::uint64_t tag = 0;
  NodeFacts unused{.created = 90, .tag = &tag};
  CHECK(inspector::rank_words(driven.policy->describe().rank, driven.policy->rank(unused), 100)
            .find("10 ticks ago; never used") != std::string::npos);
}

TEST_CASE("hazard: a node is worth no more than its parent where the parent's client ended the session, only there") {
  Driven driven;
  for (std::uint64_t i = 0; i < 600; ++i) {
    driven.end(1'000'000 + i / 3 % 4, 0);  // comes back
    driven.end(2'000'000 + i, hint::of_class(1));
  }
  const std::uint64_t plain = driven.end(1, 0), other = driven.end(2, hint::of_class(1));
  CHECK(driven.rank(plain).major > driven.rank(other).major);
  CHECK(driven.rank(plain, &other) == driven.rank(plain));
  for (std::uint64_t i = 0; i < 600; ++i) driven.end(3'000'000 + i, hint::kSessionEnded);
  const std::uint64_t ended = driven.end(3, hint::kSessionEnded), later = driven.end(4, 0);
  CHECK(driven.rank(later, &ended).major < driven.rank(later).major);
  CHECK(driven.rank(later, &other) == driven.rank(later));
}

TEST_CASE("hazard: what a second turn brings is worth what first_turns says") {
  std::map<double, std::array<std::uint64_t, 2>> by_weight;
  for (const double weight : {1.0, 16.0}) {
    auto engine = pool_of(60'000, "{ hazard: { first_turns: " + std::to_string(weight) + " } }");
    Sessions source;
    auto report = run_through(*engine, source);
    by_weight[weight] = {report.hit_tokens, report.digest};
  }
  CHECK(by_weight[1.0][1] != by_weight[16.0][1]);
  Sessions source;
  CHECK(by_weight[1.0][0] == hits("hazard", 60'000, source));  // 1 changes nothing
}

TEST_CASE("hazard: tenants that look alike are distinguished") {
  /// Each prompt of one tenant comes back after some requests, and none of the other's does.
  class Twins final : public workload::RequestSource {
   public:
    Result<bool> next(workload::ClientRequest& request) override {
      if (++number_ > 6'000) return false;
      request = {};
      const bool good = number_ % 2 == 0;
      const std::uint64_t document = good && number_ % 4 == 0 && number_ > 30 ? number_ - 30 : number_;
      request.space = good ? "good" : "bad";
      request.prompt = tokens(static_cast<Token>(document) * 10'000, 2'048);
      request.output_tokens = 10;
      return true;
    }
    double progress() const override { return static_cast<double>(number_) / 6'000; }

   private:
    std::uint64_t number_ = 0;
  };
  Twins first, second;
  CHECK(hits("hazard", 46'000, second) > hits("lru", 46'000, first) + 2'700'000);
}

TEST_CASE("hazard: with a cost_weight deep prefixes stay longer") {
  const auto deepest = [](const char* policy) {
    auto engine = pool_of(60'000, policy);
    Sessions source;
    return run_through(*engine, source).hit_tokens;
  };
  CHECK(deepest("hazard") != deepest("{ hazard: { cost_weight: 1 } }"));
}

TEST_CASE("a policy is shown the word of a node's parent, and 0 where a root is above") {
  struct Words final : EvictionStrategy {
    std::uint64_t seen = 0, wrong = 0;
    Rank rank(const NodeFacts& node) override {
      const std::uint64_t above = node.parent_tag ? *node.parent_tag : 0;
      wrong += above != (node.begin == 0 ? 0U : 1U), ++seen;
      return {0, node.last_access};
    }
    void ended(const RequestFacts&, Path& path) override {
      for (NodeFacts node; path.next(node);) *node.tag = node.begin + 1;
    }
  };
  const auto engine = pool_of(1'000, "lru");
  const auto policy = std::make_shared<Words>();
  REQUIRE(engine->use_policy(0, policy));
  for (const Token last : {Token{1'000}, Token{2'000}, Token{3'000}}) {
    auto prompt = tokens(1, 64);
    prompt.insert(prompt.end(), 32, last);
    Request request = engine->begin(arrival(prompt, 0));
    REQUIRE(request.reserve(96));
    request.finish(96);
  }
  CHECK(policy->seen > 3);
  CHECK(policy->wrong == 0);
  check_settled(*engine);
}
