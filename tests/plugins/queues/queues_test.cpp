#include <queues/ghosts.h>

#include <algorithm>
#include <array>

#include <support/shared_folder.h>
#include "../hazard/support.h"

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr std::uint32_t kLength = 1'024;

/// Requests one after the other on an engine whose pool holds ten prompts.
struct TenPrompts {
  explicit TenPrompts(const std::string& policy) : engine(pool_of(10 * kLength, policy)) {}
  void serve(Token prompt) {
    const auto text = tokens(prompt * 10'000, kLength);
    Request request = engine->begin(arrival(text, 0));
    REQUIRE(request.reserve(kLength));
    request.finish(kLength);
  }
  void serve(Token first, Token end) {
    for (Token prompt = first; prompt < end; ++prompt) serve(prompt);
  }
  bool has(Token prompt) {
    return engine->index().peek({NamespaceId::shared, tokens(prompt * 10'000, kLength)}).length == kLength;
  }
  std::unique_ptr<Engine> engine;
};

/// A policy's queue of nodes that came one after the other, as an index keeps it.
struct Waiting {
  explicit Waiting(const std::string& name, std::uint32_t count) : policy(make<EvictionStrategy>(name, {})) {
    for (std::uint32_t i = 0; i < count; ++i) add();
  }
  void add() {
    nodes.emplace_back();
    Node& node = nodes.back();
    node.facts.id = NodeId{nodes.size()}, node.facts.length = 16, node.facts.clock.capacity = 160;
    node.facts.created = node.facts.last_access = ++now;
    rank(node);
  }
  void hit(std::size_t i) { ++nodes[i].facts.hits, rank(nodes[i]); }
  /// The number of the next victim, from 0 in the order of arrival.
  std::size_t evict() {
    ++now;
    for (Node& node : nodes)
      if (!node.gone) rank(node);
    for (;;) {
      auto next = nodes.end();
      for (auto at = nodes.begin(); at != nodes.end(); ++at)
        if (!at->gone && (next == nodes.end() || at->rank < next->rank)) next = at;
      REQUIRE(next != nodes.end());
      if (next->facts.spared != now && spare(*next)) {
        next->facts.spared = now;
        rank(*next);
        continue;
      }
      next->facts.tag = &next->tag;
      policy->evicted(next->facts, {});
      next->gone = true;
      return static_cast<std::size_t>(next - nodes.begin());
    }
  }

 private:
  struct Node {
    NodeFacts facts;
    std::uint64_t tag = 0;
    Rank rank;
    bool gone = false;
  };
  void rank(Node& node) {
    node.facts.tag = &node.tag, node.facts.clock.allocated = 16 * nodes.size();
    node.rank = policy->rank(node.facts);
  }
  bool spare(Node& node) { return node.facts.tag = &node.tag, policy->spare(node.facts); }

  std::shared_ptr<EvictionStrategy> policy;
  std::vector<Node> nodes;
  Tick now = 0;
};

}  // namespace

TEST_CASE("sieve: the hand goes on from where it was, spares what was hit, and what is new is met last") {
  Waiting queue("sieve", 5);
  queue.hit(0);
  queue.hit(2);
  CHECK(queue.evict() == 1);  // 0 keeps its place, and the hand is past it
  queue.add();                // 5
  CHECK(queue.evict() == 3);  // 2 is spared
  queue.hit(4);
  CHECK(queue.evict() == 5);  // the youngest, in the hand's first round
  CHECK(queue.evict() == 0);  // the second round: the marks of 0 and 2 are used up
  queue.hit(2);
  queue.add();  // 6
  CHECK(queue.evict() == 4);
  CHECK(queue.evict() == 6);
  CHECK(queue.evict() == 2);
}

TEST_CASE("s3_fifo: what comes back after its eviction is in the main queue, and a scan does not reach it") {
  for (const char* const policy : {"lru", "s3_fifo"}) {
    CAPTURE(policy);
    const bool keeps = policy != std::string("lru");
    TenPrompts pool(policy);
    pool.serve(1, 4);
    pool.serve(100, 110);
    CHECK(!pool.has(1));
    pool.serve(1, 4);  // out of the ghosts
    pool.serve(200, 220);
    for (Token prompt = 1; prompt < 4; ++prompt) CHECK(pool.has(prompt) == keeps);
    check_settled(*pool.engine);
  }
}

TEST_CASE("s3_fifo: a pool without a limit has no ghosts, which are in proportion to the pool") {
  struct OneNode final : Path {
    bool next(NodeFacts& to) override { return !std::exchange(done, true) && (to = only, true); }
    NodeFacts only;
    bool done = false;
  };
  for (const std::uint64_t capacity : {std::uint64_t{100'000}, kUnlimited}) {
    const auto policy = make<EvictionStrategy>("s3_fifo", {});
    const std::array<std::uint64_t, 2> prints{11, 12};
    std::uint64_t first = 0, again = 0;
    NodeFacts node;
    node.length = kLength, node.clock.capacity = capacity, node.tag = &first;
    policy->rank(node);
    policy->evicted(node, {.cause = Cause::other_group, .prefix_prints = prints});
    node.tag = &again;
    OneNode path;
    path.only = node;
    RequestFacts request;
    request.prefix_prints = prints;
    policy->ended(request, path);
    CHECK((again >> 62) == (capacity == kUnlimited ? 1 : 2));  // the small queue, or the main one: it came back
  }
}

TEST_CASE("sieve: a flush does not move the hand") {
  for (const Cause cause : {Cause::room, Cause::flush, Cause::dead_leaf}) {
    const auto policy = make<EvictionStrategy>("sieve", {});
    std::uint64_t far = std::uint64_t{7} << 32 | 1, tag = 0;  // in the seventh round
    NodeFacts node;
    node.tag = &far;
    policy->evicted(node, {.cause = cause, .prefix_prints = {}});
    node.tag = &tag;
    CHECK(policy->rank(node).major == (cause == Cause::room ? 7 : 0));
  }
}

TEST_CASE("s3_fifo: two hits bring a node from the small queue to the main one, and each hit there is a chance") {
  TenPrompts pool("s3_fifo");
  pool.serve(1, 3);
  for (int i = 0; i < 3; ++i) pool.serve(1);
  pool.serve(2);  // one hit is not enough
  pool.serve(100, 115);
  CHECK(pool.has(1));
  CHECK(!pool.has(2));
}

TEST_CASE("s3_fifo: a hit in the main queue is only one more round") {
  Waiting queue("s3_fifo", 4);
  for (std::size_t node = 0; node < 4; ++node)
    for (int i = 0; i < 2; ++i) queue.hit(node);
  CHECK(queue.evict() == 0);  // all four go to the main queue; their hits are used up
  queue.hit(1);
  CHECK(queue.evict() == 2);  // 1 is spared
  queue.add();                // 4
  queue.add();                // 5
  for (int i = 0; i < 2; ++i) queue.hit(4);
  CHECK(queue.evict() == 5);  // 4 goes to the main queue, behind 1
  CHECK(queue.evict() == 3);
  CHECK(queue.evict() == 1);
  CHECK(queue.evict() == 4);
}

TEST_CASE("arc: a scan does not take what was used twice, and ghosts bring back what it took") {
  for (const char* const policy : {"lru", "arc"}) {
    CAPTURE(policy);
    const bool keeps = policy != std::string("lru");
    TenPrompts pool(policy);
    for (int i = 0; i < 2; ++i) pool.serve(1, 5);
    pool.serve(100, 130);
    for (Token prompt = 1; prompt < 5; ++prompt) CHECK(pool.has(prompt) == keeps);
    check_settled(*pool.engine);
  }
}

TEST_CASE("arc: the target follows what comes back, so that new work is not starved by old favourites") {
  TenPrompts pool("arc");
  for (int i = 0; i < 2; ++i) pool.serve(1, 10);  // nine favourites fill nine tenths
  const auto rounds = [&] {
    for (int i = 0; i < 20; ++i) pool.serve(100, 106);  // six that come again and again
  };
  rounds();
  for (Token prompt = 100; prompt < 106; ++prompt) CHECK(pool.has(prompt));
  // The target is several prompts now: what is new stays although it is used once.
  pool.serve(200, 203);
  for (Token prompt = 200; prompt < 203; ++prompt) CHECK(pool.has(prompt));
}

TEST_CASE("ghosts: strides that end in the node, the oldest forgotten first, none of what was flushed") {
  std::array<std::uint64_t, 4> prints{11, 12, 13, 14};
  NodeFacts node;
  node.begin = 600, node.length = 1'000;  // ends in the fourth stride
  CHECK(std::ranges::equal(queues::strides_in(node, prints), std::array<std::uint64_t, 2>{12, 13}));
  node.begin = 1'030, node.length = 100;
  CHECK(queues::strides_in(node, prints).empty());
  node.begin = 10'000;
  CHECK(queues::strides_in(node, prints).empty());

  queues::Ghosts ghosts;
  node.begin = 0, node.length = 2'048;
  ghosts.add(node, {Cause::flush, prints});
  CHECK(ghosts.tokens() == 0);
  ghosts.add(node, {Cause::room, prints});
  CHECK(ghosts.tokens() == 2'048);
  CHECK(ghosts.take(std::span(prints).subspan(1, 1)) == 1);
  CHECK(ghosts.take(std::span(prints).subspan(1, 1)) == 0);
  ghosts.trim(1'024);
  CHECK(ghosts.take(std::span(prints).first(1)) == 0);
  CHECK(ghosts.take(prints) == 2);

  // A prefix that was evicted again is the youngest.
  queues::Ghosts others;
  node.length = 1'024;
  others.add(node, {Cause::room, prints});
  CHECK(others.take(std::span(prints).first(1)) == 1);
  node.length = 512;
  others.add(node, {Cause::room, prints});
  others.trim(512);
  CHECK(others.take(std::span(prints).first(1)) == 1);
}

TEST_CASE("arc, s3_fifo, sieve: their hits on the conversation trace") {
  const auto trace = shared_file("traces/conversation_trace.jsonl");
  if (trace.empty()) return;
  struct Known {
    const char* policy;
    double hits, tolerance;
  };
  // At 3 M tokens; sieve as another implementation has it, digit for digit.
  for (const auto& [policy, wanted, tolerance] :
       {Known{"arc", 21.47e6, 0.02}, Known{"s3_fifo", 22.58e6, 0.02}, Known{"sieve", 14'392'512, 1e-9}}) {
    CAPTURE(policy);
    auto source = workload::open_trace(trace);
    REQUIRE(source);
    const auto report = run_through(*pool_of(3'000'000, policy), **source);
    CHECK(static_cast<double>(report.hit_tokens) == doctest::Approx(wanted).epsilon(tolerance));
  }
}
