#include <conformance/every.h>
#include <conformance/model/index_kind.h>
#include <conformance/model/index_walk.h>
#include <conformance/model/plugins.h>
#include <conformance/spy.h>

#include <canopy/helpers/prefix_print.h>
#include <canopy/prefix_index.h>
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

/// Runs a test over the indexes that evict runs of pages as the policy ranks them.
template <class Test>
void for_every_tree(Test&& test) {
  for_every<PrefixIndex>([&](const std::string& name) {
    if (kind_of(name).tree) test(name);
  });
}

}  // namespace

// clang-format off
#define TREE_CASE(title) CONTRACT(for_every_tree, (const std::string& name), title)
// clang-format on

TEST_SUITE_BEGIN("PrefixIndex");

TEST_CASE("arrived() is called once for each match, with the request's facts, even if nothing is found") {
  for (const auto& name : names_of<PrefixIndex>()) {
    CAPTURE(name);
    PolicyBench bench(name);
    RequestFacts facts;
    facts.prompt = 4, facts.hints = 99, facts.priority = -2;
    bench.index->release(bench.match("1234", facts));
    REQUIRE(bench.spy.arrivals.size() == 1);
    CHECK(bench.spy.arrivals[0].prompt == 4);
    CHECK(bench.spy.arrivals[0].hints == 99);
    CHECK(bench.spy.arrivals[0].priority == -2);
    bench.index->peek({NamespaceId::shared, PolicyBench::words("1234")});
    CHECK(bench.spy.arrivals.size() == 1);
  }
}

TREE_CASE("evicted() is called for each evicted node, in the order of eviction") {
  PolicyBench bench(name);
  bench.add("12");
  bench.add("1234");
  bench.add("567");
  CHECK(bench.index->evict(0, 7)[0].size() == 7);
  REQUIRE(bench.spy.left.size() == 3);
  CHECK(bench.spy.left[0].begin == 2);
  CHECK(bench.spy.left[1].begin == 0);
  CHECK(bench.spy.left[1].length == 2);
  CHECK(bench.spy.left[2].length == 3);
  for (const NodeFacts& facts : bench.spy.left) CHECK(facts.children == 0);
}

TREE_CASE("ended() has the path of the request, deepest first, and how it ended") {
  PolicyBench bench(name);
  bench.add("12");
  bench.add("1234");
  bench.add("1234567");
  bench.index->release(bench.match("1234567"));
  CHECK(bench.spy.paths.empty());
  for (const Ending ending : {Ending::finished, Ending::aborted, Ending::retracted}) {
    RequestFacts facts;
    facts.id = 17, facts.ending = ending;
    bench.spy.ends.clear(), bench.spy.paths.clear();
    bench.index->release(bench.match("1234567", facts), &facts);
    CHECK(bench.spy.arrivals.back().id == 17);
    REQUIRE(bench.spy.ends.size() == 1);
    CHECK(bench.spy.ends[0].id == 17);
    CHECK(bench.spy.ends[0].ending == ending);
    REQUIRE(bench.spy.paths[0].size() == 3);
    CHECK(bench.spy.paths[0][0].begin == 4);
    CHECK(bench.spy.paths[0][1].begin == 2);
    CHECK(bench.spy.paths[0][2].begin == 0);
  }
}

TREE_CASE("a tag stays with its node, reaches rank() as it was written, and a split copies it to both halves") {
  PolicyBench bench(name);
  bench.spy.tags = [](NodeFacts& facts) { *facts.tag = 70 + facts.begin; };
  std::uint64_t ranked = 0;
  bench.spy.ranks = [&](const NodeFacts& facts) { return ranked = *facts.tag, Rank{*facts.tag, 0}; };
  const RequestFacts facts;
  bench.index->release(bench.insert("1234"), &facts);
  CHECK(ranked == 70);
  bench.index->release(bench.match("12"));
  for (const WalkedNode& node : walk(*bench.index)) CHECK(*node.facts.tag == 70);
  CHECK(walk(*bench.index).size() == 2);
  bench.add("9");
  CHECK(ranked == 0);
}

TREE_CASE("a tag is zero on a new node and when the group gets another policy") {
  PolicyBench bench(name);
  bench.spy.tags = [](NodeFacts& facts) { *facts.tag = 70; };
  const RequestFacts facts;
  bench.index->release(bench.insert("1234"), &facts);
  bench.index->release(bench.insert("567"), &facts);
  for (const WalkedNode& node : walk(*bench.index)) CHECK(*node.facts.tag == 70);
  Spy next;
  std::size_t calls = 0, others = 0;
  const auto looks = [&](const NodeFacts& node) { return ++calls, others += *node.tag != 0, Rank{}; };
  next.ranks = looks;
  bench.index->use_policy(0, &next);
  CHECK(calls >= 2);
  for (const WalkedNode& node : walk(*bench.index)) CHECK(*node.facts.tag == 0);
  bench.index->use_policy(0, &bench.spy);
  bench.index->release(bench.match("1234"), &facts);
  CHECK(bench.index->evict(0, 100)[0].size() == 7);  // 70s among them
  bench.spy.ranks = looks;
  bench.add("89");
  CHECK(others == 0);
}

/// Two groups, each with a policy that writes its own tags and spares its own nodes.
TEST_CASE("policies of two groups never share tags or second chances") {
  for (const auto& name : names_of<PrefixIndex>()) {
    CAPTURE(name);
    std::array<Spy, 2> spies;
    std::size_t wrong = 0, written = 0;
    for (std::uint64_t g = 0; g < 2; ++g) {
      const auto look = [&wrong, g](const NodeFacts& node) { wrong += *node.tag != 0 && *node.tag != 7'000 + g; };
      spies[g].tags = [&written, look, g](NodeFacts& node) { look(node), *node.tag = 7'000 + g, ++written; };
      spies[g].ranks = [look](const NodeFacts& node) { return look(node), Rank{node.spared, node.last_access}; };
      spies[g].spares = [g](const NodeFacts& node) { return g == 0 && node.begin < 2; };
    }
    const std::array groups{Group{"full", kWholePath, 1'000, &spies[0]}, Group{"window", 3, 1'000, &spies[1]}};
    std::shared_ptr<PrefixIndex> index;
    try {
      index = make<PrefixIndex>(name, {1, 0, groups});
    } catch (const Mismatch&) {
      continue;  // an index of one group
    }
    Page next = 1;
    const RequestFacts facts;
    for (const char* digits : {"1234567", "12389", "5", "56789", "1234567"}) {
      const auto words = PolicyBench::words(digits);
      const Lock had = index->match({NamespaceId::shared, words}, facts);
      std::vector<Page> pages(words.size() - had.length);
      std::iota(pages.begin(), pages.end(), next);
      next += static_cast<Page>(pages.size());
      index->release(index->insert(had, {NamespaceId::shared, words}, {pages, pages}, {}).lock, &facts);
      index->evict(1, 1);
      index->evict(0, 1);
    }
    CHECK(wrong == 0);
    CHECK((written > 0 || index->use().nodes == 0));
    Waiters waiters;
    index->waiting(1, waiters);
    for (const auto& [node, rank] : waiters.all) CHECK(node.spared == 0);
  }
}

TREE_CASE("an eviction has its cause, and the prints of the prefix for policies that read them") {
  constexpr Units kLong = 2 * kPrintStride + 100;
  for (const Prints wanted : {Prints::none, Prints::requests, Prints::all}) {
    const bool reads = wanted == Prints::all;
    PolicyBench bench(name);
    bench.spy.reads = wanted;
    bench.index->use_policy(0, &bench.spy);
    std::string digits(kLong, '1');
    for (Units i = 0; i < kLong; ++i) digits[i] = static_cast<char>('0' + i * i % 7);
    // Nodes that end in the first stride, at its end, and after the second.
    for (const Units end : {Units{100}, Units{kPrintStride}, kLong}) bench.add(digits.substr(0, end));
    std::vector<std::uint64_t> prints{first_print(NamespaceId::shared)};
    const auto words = PolicyBench::words(digits);
    for (Units at = 0; at + kPrintStride <= kLong; at += kPrintStride)
      prints.push_back(next_print(prints.back(), words.data() + at));
    prints.erase(prints.begin());
    bench.index->evict(0, 1);
    bench.index->evict(0, 1, Cause::limit);
    bench.index->flush(NamespaceId::shared);
    REQUIRE(bench.spy.prints.size() == 3);
    CHECK(bench.spy.causes == std::vector{Cause::room, Cause::limit, Cause::flush});
    CHECK(bench.spy.prints[0] == (reads ? prints : std::vector<std::uint64_t>{}));
    CHECK(bench.spy.prints[1] == (reads ? std::vector{prints[0]} : std::vector<std::uint64_t>{}));
    CHECK(bench.spy.prints[2].empty());
    // Nodes that are evicted one after the other may belong to different paths.
    for (const char* const last : {"a", "b"}) bench.add(digits + last);
    bench.add(std::string(kPrintStride, '9'));
    bench.index->evict(0, 1'000'000);
    if (!reads) continue;
    REQUIRE(bench.spy.prints.size() == 7);
    for (std::size_t i = 3; i < 6; ++i) CHECK(bench.spy.prints[i] == prints);
    CHECK(bench.spy.prints[6].size() == 1);
    CHECK(bench.spy.prints[6][0] != prints[0]);
    CHECK(bench.spy.clears == 0);
    bench.index->clear();
    CHECK(bench.spy.clears == 1);
  }
}

TREE_CASE("a chain of 100,000 nodes is evicted in moments under a policy that reads prints") {
  constexpr std::uint32_t kMany = 100'000;
  PolicyBench bench(name);
  bench.spy.reads = Prints::all;
  bench.index->use_policy(0, &bench.spy);
  std::vector<std::uint32_t> words(kMany, 7);
  Lock lock;
  for (std::uint32_t i = 1; i <= kMany; ++i) {
    const std::array<Page, 1> page{i};
    const Key key{NamespaceId::shared, std::span(words).first(i)};
    lock = bench.index->insert(lock, key, {page}, {}).lock;
  }
  bench.index->release(lock);
  std::size_t strides = 0;
  bench.index->evict(0, kMany);
  for (const auto& prints : bench.spy.prints) strides += prints.size();
  CHECK(strides > kMany * std::uint64_t{kMany / kPrintStride} / 2 - kMany);
}

TREE_CASE("a node that the policy spares goes to the back of the queue, and can be spared once per eviction") {
  PolicyBench bench(name);
  bench.spy.ranks = [](const NodeFacts& node) { return Rank{node.spared != 0, node.last_access}; };
  NodeId first{};
  bench.add("12");
  first = bench.waiting().at(0).first.id;
  bench.add("34");
  bench.add("56");
  bench.spy.spares = [&](const NodeFacts& node) { return node.id == first; };
  CHECK(bench.index->evict(0, 1)[0].size() == 2);
  CHECK(bench.resident("12") == 2);
  CHECK(bench.resident("34") == 0);
  CHECK(bench.spy.spare_calls[first] == 1);
  for (const auto& [facts, rank] : bench.waiting()) CHECK((facts.spared != 0) == (facts.id == first));
  // The next eviction calls spare() again, a tick later.
  CHECK(bench.index->evict(0, 3)[0].size() == 4);
  CHECK(bench.spy.spare_calls[first] == 2);
}

TREE_CASE("both halves of a split were spared when the whole was") {
  PolicyBench bench(name);
  bench.add("12");
  bench.add("34");
  bench.spy.spares = [](const NodeFacts& node) { return node.spared == 0; };
  bench.spy.ranks = [](const NodeFacts& node) { return Rank{node.spared, node.last_access}; };
  CHECK(bench.index->evict(0, 1)[0].size() == 2);
  bench.index->release(bench.match("3"));
  const auto nodes = walk(*bench.index);
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].facts.spared != 0);
  CHECK(nodes[0].facts.spared == nodes[1].facts.spared);
}

TREE_CASE("a policy that spares every node cannot stall an eviction") {
  PolicyBench bench(name);
  bench.spy.spares = [](const NodeFacts&) { return true; };
  for (const char* key : {"11", "22", "33", "1144"}) bench.add(key);
  CHECK(bench.index->evict(0, 3)[0].size() == 4);
  for (const auto& [id, times] : bench.spy.spare_calls) CHECK(times == 1);
  CHECK(bench.index->evict(0, 100)[0].size() == 4);
}

TREE_CASE("a new policy ranks the nodes in the queue again") {
  Spy youngest_first;
  youngest_first.ranks = [](const NodeFacts& node) { return Rank{~node.last_access, 0}; };
  PolicyBench bench(name);
  for (const char* key : {"11", "22", "33"}) bench.add(key);
  bench.index->use_policy(0, &youngest_first);
  bench.index->evict(0, 1);
  CHECK(bench.resident("33") == 0);
  CHECK(bench.resident("11") == 2);
  CHECK(youngest_first.left.size() == 1);
  CHECK(bench.spy.left.empty());
  bench.index->use_policy(0, &bench.spy);
  bench.index->evict(0, 1);
  CHECK(bench.resident("11") == 0);
}

TREE_CASE("nodes in the queue of a drifting policy are ranked again once 2 % of the capacity was inserted") {
  PolicyBench bench(name);
  bench.spy.drift = Volatility::epoch;
  bench.index->use_policy(0, &bench.spy);
  for (const char* key : {"11", "22", "33"}) bench.add(key);
  bench.spy.ranks = [](const NodeFacts& node) { return Rank{~node.last_access, 0}; };
  bench.add("4567890123456789012345678901234567890");
  bench.index->evict(0, 37);
  CHECK(bench.resident("4567890123456789012345678901234567890") == 0);
  bench.index->evict(0, 1);
  CHECK(bench.resident("33") == 0);
  CHECK(bench.resident("11") == 2);
}

TREE_CASE("nodes of equal rank are evicted by slot number") {
  PolicyBench bench(name);
  bench.spy.ranks = [](const NodeFacts&) { return Rank{}; };
  for (const char* key : {"11", "22", "33", "44", "55"}) bench.add(key);
  bench.index->evict(0, 4);
  for (const char* key : {"66", "77", "88"}) bench.add(key);
  bench.index->evict(0, 100);
  REQUIRE(bench.spy.left.size() == 8);
  for (std::size_t i = 1; i < 8; ++i)
    if (i != 2) CHECK(slot_of(bench.spy.left[i - 1].id) < slot_of(bench.spy.left[i].id));
}

TREE_CASE("the policy's clock has the inserted tokens, the resident ones and the capacity") {
  PolicyBench bench(name);
  bench.add("1234");
  bench.add("123456");
  bench.add("78");
  CHECK(bench.index->evict(0, 2)[0].size() == 2);
  PolicyClock clock;
  bench.spy.ranks = [&](const NodeFacts& node) { return clock = node.clock, Rank{node.last_access, 0}; };
  bench.add("78");
  CHECK(clock.capacity == 1'000);
  CHECK(clock.allocated == 8);
  CHECK(clock.used == bench.index->sizes(0).evictable + bench.index->sizes(0).protected_);
  CHECK(clock.now > 0);
}

TEST_SUITE_END();
