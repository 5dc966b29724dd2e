#include <canopy/base/random.h>
#include <conformance/every.h>
#include <conformance/model/random_ops.h>
#include <conformance/model/victim_order.h>

#include <canopy/eviction_strategy.h>
#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

template <>
struct doctest::StringMaker<canopy::Rank> {
  static String convert(canopy::Rank rank) { return fmt::format("{{{}, {}}}", rank.major, rank.minor).c_str(); }
};

namespace {

using namespace canopy;
using namespace canopy::test;

NodeFacts random_facts(Random& prng, std::uint64_t& tag) {
  NodeFacts facts;
  facts.id = NodeId{1 + prng.below(1'000)};
  facts.begin = prng.below(100'000), facts.length = 1 + prng.below(10'000);
  facts.hits = prng.below(5), facts.inserts = prng.below(5), facts.children = prng.below(3);
  facts.priority = static_cast<std::int32_t>(prng.below(7)) - 3;
  facts.created = 1 + prng.below(1'000), facts.last_access = facts.created + prng.below(1'000);
  facts.clock = {2'000'000, 1'000'000, 1'500'000, 3'000};
  facts.tag = &tag;
  return facts;
}

struct ThreeNodes final : Path {
  std::array<std::uint64_t, 3> tags{};
  std::size_t given = 0;
  bool next(NodeFacts& facts) override {
    if (given == tags.size()) return false;
    facts = {};
    facts.begin = static_cast<Units>((tags.size() - 1 - given) * 16), facts.length = 16;
    facts.tag = &tags[given++];
    return true;
  }
};

}  // namespace

// clang-format off
#define POLICY_CASE(title) CONTRACT(for_every<EvictionStrategy>, ([[maybe_unused]] const std::string& name, [[maybe_unused]] EvictionStrategy& policy), title)
// clang-format on

TEST_SUITE_BEGIN("EvictionStrategy");

POLICY_CASE("a rank depends only on the facts: a second call, or another instance, returns the same rank") {
  const auto other = make<EvictionStrategy>(name, {});
  Random prng(3);
  for (int i = 0; i < 1'000; ++i) {
    std::uint64_t tag = 0, moved_tag = 0;
    NodeFacts facts = random_facts(prng, tag);
    const Rank rank = policy.rank(facts);
    CHECK(rank == policy.rank(facts));
    CHECK(rank == other->rank(facts));
    facts.tag = &moved_tag;
    CHECK_MESSAGE(rank == policy.rank(facts), "the same facts, their tag at another address");
  }
  CHECK(policy.volatility() == other->volatility());
  CHECK(policy.reads_prints() == other->reads_prints());
}

TEST_CASE("a rank is the same a second later: a policy reads no clock") {
  struct Ranked {
    std::string name;
    std::shared_ptr<EvictionStrategy> policy;
    std::vector<Rank> ranks;
  };
  // A policy may remember the nodes that it ranked before, which is no clock: so the second run uses another one.
  const auto ranks_of = [](EvictionStrategy& policy) {
    Random prng(6);
    std::uint64_t tag = 0;
    std::vector<Rank> ranks(100);
    for (Rank& rank : ranks) rank = policy.rank(random_facts(prng, tag));
    return ranks;
  };
  std::vector<Ranked> all;
  for (const auto& name : names_of<EvictionStrategy>()) {
    auto ranks = ranks_of(*make<EvictionStrategy>(name, {}));
    all.push_back({name, make<EvictionStrategy>(name, {}), std::move(ranks)});
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1'100));
  for (const auto& [name, policy, before] : all) {
    CAPTURE(name);
    const auto after = ranks_of(*policy);
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(before[i] == after[i]);
  }
}

POLICY_CASE("an index with the policy agrees with the models") {
  WorldConfig alone, beside_a_window;
  beside_a_window.groups = {{"full", kWholePath, 0, ""}, {"window", 6, 0, ""}};
  for (WorldConfig config : {alone, beside_a_window}) {
    config.policy = name, config.walk_every = 100;
    const Program program = random_program(7, config, 3'000);
    if (const auto failure = run_program(program)) FAIL(report(program, *failure));
  }
}

POLICY_CASE("a policy with a well-known name has its well-known order") {
  const LeavesBefore before = order_of(name);
  Random prng(4);
  for (int i = 0; i < 10'000; ++i) {
    std::array<std::uint64_t, 2> tags{};
    const NodeFacts a = random_facts(prng, tags[0]), b = random_facts(prng, tags[1]);
    const auto history = [](const NodeFacts& facts) {
      return PageHistory{facts.created, facts.last_access, facts.hits, facts.inserts, facts.priority};
    };
    if (before(history(a), history(b))) CHECK(policy.rank(a) < policy.rank(b));
  }
}

/// A queue as in an index, of three nodes that came one after the other. evict() takes the next one and returns its
/// number.
struct ThreeWaiting {
  EvictionStrategy& policy;
  std::array<std::uint64_t, 3> tags{};
  std::array<NodeFacts, 3> nodes{};
  std::array<Rank, 3> ranks{};
  Tick now = 3;

  explicit ThreeWaiting(EvictionStrategy& of) : policy(of) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      nodes[i].id = NodeId{i + 1}, nodes[i].length = 16, nodes[i].tag = &tags[i];
      nodes[i].created = nodes[i].last_access = i + 1;
      ranks[i] = policy.rank(nodes[i]);
    }
  }
  void hit(std::size_t i) {
    ++nodes[i].hits;
    nodes[i].last_access = ++now;
    ranks[i] = policy.rank(nodes[i]);
  }
  /// Evicts the next node; a new node takes its place.
  std::size_t evict() {
    ++now;
    for (;;) {
      const auto next = static_cast<std::size_t>(std::min_element(ranks.begin(), ranks.end()) - ranks.begin());
      NodeFacts& node = nodes[next];
      if (node.spared != now && policy.spare(node)) {
        node.spared = now;
        ranks[next] = policy.rank(node);
        continue;
      }
      policy.evicted(node, {});
      tags[next] = 0;
      node.hits = 0, node.spared = 0, node.created = node.last_access = now;
      ranks[next] = policy.rank(node);
      return next;
    }
  }
};

POLICY_CASE("clock spares a node that was hit once more and no second time, and lfu_da ages nodes with many hits") {
  ThreeWaiting queue(policy);
  if (name == "clock") {
    queue.hit(0);
    CHECK(queue.evict() == 1);  // 0 is spared, and is now behind the others
    CHECK(queue.evict() == 2);
    CHECK(queue.evict() == 0);  // no hit since: its second chance is used up
    queue.hit(1);
    queue.hit(1);
    CHECK(queue.evict() == 2);  // two hits are one second chance
    CHECK(queue.evict() == 0);
    CHECK(queue.evict() == 1);
  }
  if (name == "lfu_da") {
    for (int i = 0; i < 3; ++i) queue.hit(0);
    CHECK(queue.evict() == 1);
    CHECK(queue.evict() == 2);
    // A hit is worth more the later it comes: evictions raise the age, until three old hits are worth less.
    std::size_t passed = 0;
    for (std::size_t last = 2; last != 0 && passed < 50; ++passed) {
      queue.hit(1);
      queue.hit(2);
      last = queue.evict();
    }
    CHECK(passed > 1);
    CHECK(passed < 10);
    // Nodes that were never hit make the others older too.
    for (int i = 0; i < 3; ++i) queue.hit(1);
    for (passed = 0; queue.evict() != 1 && passed < 50;) ++passed;
    CHECK(passed < 20);
    // A flush makes no other node older.
    std::uint64_t hot = 0, fresh = 0;
    NodeFacts node;
    node.tag = &fresh;
    const std::uint64_t age = policy.rank(node).major;
    node.hits = 1000, node.tag = &hot;
    policy.rank(node);
    policy.evicted(node, {.cause = Cause::flush, .prefix_prints = {}});
    policy.evicted(node, {.cause = Cause::dead_leaf, .prefix_prints = {}});
    node.hits = 0, node.tag = &(fresh = 0);
    CHECK(policy.rank(node).major == age);
  }
}

POLICY_CASE("a rank that only its node's facts decide stays the same while other nodes are evicted") {
  if (policy.volatility() != Volatility::none) return;
  ThreeWaiting queue(policy);
  const auto stayed = (queue.evict() + 1) % 3;  // inserted before the first eviction, never hit
  CHECK(policy.rank(queue.nodes[stayed]) == queue.ranks[stayed]);
  queue.hit(stayed);
  if (queue.evict() != stayed) CHECK(policy.rank(queue.nodes[stayed]) == queue.ranks[stayed]);
}

POLICY_CASE("a policy accepts every call in any order and still ranks") {
  Random prng(5);
  std::uint64_t tag = 0;
  // Whole strides of ten prompts, which are repeated again and again.
  std::array<std::array<std::uint64_t, 9>, 10> prints;
  for (auto& prompt : prints)
    for (std::uint64_t& print : prompt) print = prng.below(~std::uint32_t{0});
  const auto strides_of = [&](std::uint32_t prompt, std::uint32_t tokens) {
    return policy.reads_prints() != Prints::none ? std::span(prints[prompt]).first(tokens / kPrintStride)
                                                 : std::span<const std::uint64_t>();
  };
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    RequestFacts request;
    request.prompt = prng.below(4'700), request.matched = prng.below(request.prompt + 1);
    request.prefix_prints = strides_of(prng.below(10), request.prompt);
    request.id = 1 + prng.below(2) * i;
    policy.arrived(request);
    ThreeNodes path;
    request.output = prng.below(99), request.ending = static_cast<Ending>(1 + prng.below(3));
    if (prng.one_in(2)) policy.ended(request, path);
    NodeFacts facts = random_facts(prng, tag);
    facts.begin %= 4'000, facts.length = 1 + facts.length % 600;
    policy.spare(facts);
    if (prng.one_in(2))
      policy.evicted(facts,
                     {static_cast<Cause>(prng.below(5)), strides_of(prng.below(10), facts.begin + facts.length)});
    if (prng.one_in(50)) policy.cleared();
    policy.rank(facts);
  }
}

TEST_SUITE_END();
