#include <conformance/every.h>
#include <conformance/model/index_kind.h>
#include <conformance/model/index_walk.h>
#include <conformance/spy.h>

#include <canopy/tenant_index.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

constexpr TenantId kUnnamed = TenantId::unnamed, kAcme{1}, kBatch{2};
constexpr NamespaceId kFirst{1}, kSecond{2};

/// An index whose namespaces 1 and 2 belong to the tenants 1 and 2.
struct TenantBench : PolicyBench {
  explicit TenantBench(const std::string& name) : PolicyBench(name), tenants(*index->tenants()) {
    REQUIRE(tenants.assign(kFirst, kAcme));
    REQUIRE(tenants.assign(kSecond, kBatch));
  }
  std::size_t evict(TenantId tenant, std::size_t pages, std::size_t most = 1'000, LeavingVisitor* visitor = nullptr) {
    return tenants.evict(tenant, 0, pages, most, Cause::ceiling, visitor)[0].size();
  }
  std::uint64_t evictable(TenantId tenant) { return tenants.sizes(0, tenant).evictable; }

  TenantIndex& tenants;
};

/// Runs a test over the indexes that keep tenants apart.
template <class Test>
void for_every_tenant_index(Test&& test) {
  for_every<PrefixIndex>([&](const std::string& name) {
    if (PolicyBench(name).index->tenants()) test(name);
  });
}

struct Leavers final : LeavingVisitor {
  std::vector<std::pair<NodeFacts, std::vector<std::uint32_t>>> all;
  void leaving(const Leaving& node) override {
    all.emplace_back(node.facts, std::vector<std::uint32_t>(node.words.begin(), node.words.end()));
  }
};

}  // namespace

// clang-format off
#define TENANT_CASE(title) CONTRACT(for_every_tenant_index, (const std::string& name), title)
// clang-format on

TEST_SUITE_BEGIN("PrefixIndex");

TENANT_CASE("the pages of a namespace count for its tenant, also those that it had, and clear() changes no tenant") {
  PolicyBench bench(name);
  TenantIndex& tenants = *bench.index->tenants();
  bench.add("123", kFirst);
  const Lock lock = bench.insert("4567", {}, kSecond);
  bench.add("89");
  REQUIRE(tenants.assign(kFirst, kAcme));
  CHECK(tenants.sizes(0, kAcme).evictable == 3);
  CHECK(tenants.sizes(0, kUnnamed).evictable == 2);
  CHECK(tenants.sizes(0, kUnnamed).protected_ == 4);
  REQUIRE(tenants.assign(kSecond, kAcme));
  CHECK(tenants.sizes(0, kAcme).evictable == 3);
  CHECK(tenants.sizes(0, kAcme).protected_ == 4);
  CHECK(tenants.sizes(0, kUnnamed).protected_ == 0);
  CHECK(tenants.sizes(0, kBatch).evictable + tenants.sizes(0, kBatch).protected_ == 0);
  bench.index->release(lock);
  CHECK(tenants.sizes(0, kAcme).evictable == 7);
  REQUIRE(tenants.assign(kFirst, kUnnamed));
  CHECK(tenants.sizes(0, kAcme).evictable == 4);
  CHECK(tenants.sizes(0, kUnnamed).evictable == 5);
  bench.index->clear();
  CHECK(tenants.sizes(0, kAcme).evictable == 0);
  bench.add("12", kSecond);
  CHECK(tenants.sizes(0, kAcme).evictable == 2);
}

TENANT_CASE("an eviction of one tenant takes no page of another, and none before its turn") {
  TenantBench bench(name);
  bench.add("12", kSecond);
  bench.add("34", kFirst);
  bench.add("56");
  bench.add("78", kFirst);
  CHECK(bench.evict(kAcme, 1) == 2);
  CHECK(bench.resident("34", kFirst) == 0);
  CHECK(bench.evict(kAcme, 100) == 2);
  CHECK(bench.evict(kAcme, 100) == 0);
  CHECK(bench.resident("12", kSecond) == 2);
  CHECK(bench.resident("56") == 2);
  // The order of all tenants together is that of their ranks.
  CHECK(bench.index->evict(0, 1)[0].size() == 2);
  CHECK(bench.resident("12", kSecond) == 0);
  CHECK(bench.spy.causes == std::vector{Cause::ceiling, Cause::ceiling, Cause::room});
}

TENANT_CASE("an eviction of one tenant takes at most `most` pages: a longer node loses its end") {
  TenantBench bench(name);
  bench.add("12", kFirst);
  bench.add("3456789", kFirst);
  const auto words = PolicyBench::words("3456789");
  const Found whole = bench.index->find({kFirst, words});
  CHECK(bench.evict(kAcme, 5, 0) == 0);
  Leavers leavers;
  CHECK(bench.evict(kAcme, 5, 5, &leavers) == 5);
  CHECK(bench.resident("12", kFirst) == 0);
  CHECK(bench.resident("3456789", kFirst) == 4);
  REQUIRE(leavers.all.size() == 2);
  CHECK(leavers.all[1].first.begin == 4);
  CHECK(leavers.all[1].first.length == 3);
  CHECK(leavers.all[1].second == words);
  CHECK(bench.index->hold(whole.node).node == NodeId::none);
  CHECK(bench.index->use().nodes == 1);
  // Fewer pages than `most` are no reason for a split.
  CHECK(bench.evict(kAcme, 1, 4) == 4);
  CHECK(bench.evictable(kAcme) == 0);
  CHECK(bench.index->use().nodes == 0);
}

TENANT_CASE("a tenant's own policy ranks, spares and receives its nodes, and no others") {
  Spy own;  // outlives the bench
  TenantBench bench(name);
  for (const char* key : {"11", "22", "33"}) bench.add(key, kFirst), bench.add(key, kSecond);
  own.ranks = [](const NodeFacts& node) { return Rank{node.spared != 0, ~node.last_access}; };
  std::size_t foreign = 0;
  own.spares = [&](const NodeFacts& node) { return foreign += node.space != kFirst, node.spared == 0; };
  bench.tenants.use_policy(0, kAcme, &own);
  CHECK(bench.evict(kAcme, 1) == 2);
  CHECK(foreign == 0);
  CHECK(own.spare_calls.size() == 3);
  CHECK(bench.spy.spare_calls.empty());
  CHECK(bench.resident("33", kFirst) == 0);
  CHECK(bench.evict(kBatch, 1) == 2);
  CHECK(bench.resident("11", kSecond) == 0);
  CHECK(own.left.size() == 1);
  CHECK(bench.spy.left.size() == 1);
  bench.index->flush(kFirst);
  CHECK(own.left.size() == 3);
  bench.index->clear();
  CHECK(own.clears == 1);
  CHECK(bench.spy.clears == 1);
  // Null is the group's policy.
  for (const char* key : {"44", "55"}) bench.add(key, kFirst);
  bench.tenants.use_policy(0, kAcme, nullptr);
  CHECK(bench.evict(kAcme, 1) == 2);
  CHECK(bench.resident("44", kFirst) == 0);
  CHECK(own.left.size() == 3);
}

TENANT_CASE("a new policy of the group is that of the tenants without their own") {
  Spy own, next;
  TenantBench bench(name);
  bench.tenants.use_policy(0, kAcme, &own);
  for (const char* key : {"11", "22"}) bench.add(key, kFirst), bench.add(key, kSecond);
  next.ranks = [](const NodeFacts& node) { return Rank{~node.last_access, 0}; };
  bench.index->use_policy(0, &next);
  CHECK(bench.evict(kAcme, 1) == 2);
  CHECK(bench.resident("11", kFirst) == 0);
  CHECK(bench.evict(kBatch, 1) == 2);
  CHECK(bench.resident("22", kSecond) == 0);
  CHECK(own.left.size() == 1);
  CHECK(next.left.size() == 1);
  CHECK(bench.spy.left.empty());
}

TENANT_CASE("no policy sees the words of another one's nodes") {
  Spy own;
  TenantBench bench(name);
  std::size_t wrong = 0;
  const auto writes = [&](Spy& spy, std::uint64_t mark) {
    spy.tags = [&wrong, mark](NodeFacts& node) { wrong += *node.tag != 0 && *node.tag != mark, *node.tag = mark; };
    spy.ranks = [&wrong, mark](const NodeFacts& node) {
      wrong += *node.tag != 0 && *node.tag != mark;
      return Rank{node.last_access, 0};
    };
  };
  writes(bench.spy, 7), writes(own, 8);
  const auto use = [&](const char* digits, NamespaceId space) {
    RequestFacts facts;
    facts.space = space;
    bench.index->release(bench.insert(digits, {}, space), &facts);
  };
  const auto marked = [&](NamespaceId space, std::uint64_t mark) {
    std::size_t count = 0;
    for (const WalkedNode& node : walk(*bench.index)) count += node.facts.space == space && *node.facts.tag == mark;
    return count;
  };
  use("11", kFirst), use("22", kSecond), use("33", kFirst);
  CHECK(marked(kFirst, 7) == 2);
  bench.tenants.use_policy(0, kAcme, &own);
  CHECK(marked(kFirst, 0) == 2);
  CHECK(marked(kSecond, 7) == 1);
  use("11", kFirst);
  CHECK(marked(kFirst, 8) == 1);
  REQUIRE(bench.tenants.assign(kSecond, kAcme));  // from the group's policy to the tenant's own
  CHECK(marked(kSecond, 0) == 1);
  CHECK(marked(kFirst, 8) == 1);
  REQUIRE(bench.tenants.assign(kFirst, kBatch));  // and back
  CHECK(marked(kFirst, 0) == 2);
  use("33", kFirst);
  REQUIRE(bench.tenants.assign(kFirst, kUnnamed));  // under the same policy
  CHECK(marked(kFirst, 7) == 1);
  CHECK(wrong == 0);
}

TENANT_CASE("a tenant's policy whose ranks drift ranks its nodes again, under a group's whose ranks do not") {
  Spy own;
  TenantBench bench(name);
  own.drift = Volatility::epoch;
  bench.tenants.use_policy(0, kAcme, &own);
  for (const char* key : {"11", "22", "33"}) bench.add(key, kFirst);
  own.ranks = [](const NodeFacts& node) { return Rank{~node.last_access, 0}; };
  bench.add("4567890123456789012345678901234567890");
  CHECK(bench.evict(kAcme, 1) == 2);
  CHECK(bench.resident("33", kFirst) == 0);
  CHECK(bench.resident("11", kFirst) == 2);
}

TENANT_CASE("only a policy that wants prints receives those of evicted nodes") {
  Spy own;
  own.reads = Prints::all;
  TenantBench bench(name);
  bench.tenants.use_policy(0, kAcme, &own);
  const std::string digits(kPrintStride + 1, '1');
  bench.add(digits, kFirst), bench.add(digits, kSecond);
  bench.index->evict(0, 2 * digits.size());
  REQUIRE(own.prints.size() == 1);
  CHECK(own.prints[0].size() == 1);
  REQUIRE(bench.spy.prints.size() == 1);
  CHECK(bench.spy.prints[0].empty());
}

TENANT_CASE("an assignment looks at the nodes of its namespace only") {
  TenantBench bench(name);
  std::size_t calls = 0, others = 0;
  for (char first = '0'; first <= '9'; ++first)
    for (char second = '0'; second <= '9'; ++second) bench.add(std::string{first, second}, kSecond);
  bench.add("12", kFirst);
  bench.spy.ranks = [&](const NodeFacts& node) {
    ++calls, others += node.space != kFirst;
    return Rank{node.last_access, 0};
  };
  REQUIRE(bench.tenants.assign(kFirst, kBatch));
  CHECK(others == 0);
  CHECK(calls <= 2);
  CHECK(bench.evict(kBatch, 1'000) == 112);
}

TENANT_CASE("a page is kept until the last keep of its path is undone, also after splits") {
  TenantBench bench(name);
  CHECK(bench.tenants.keep({}) == 0);
  CHECK(bench.tenants.unkeep({}) == 0);
  const Lock lock = bench.insert("123456", {}, kFirst);
  CHECK(bench.tenants.unkept(lock.node) == 6);
  CHECK(bench.tenants.keep(lock) == 6);
  CHECK(bench.tenants.keep(lock) == 0);
  CHECK(bench.tenants.unkept(lock.node) == 0);
  const Lock half = bench.index->match({kFirst, PolicyBench::words("1234")}, {});
  CHECK(half.length == 4);
  CHECK(bench.tenants.unkept(half.node) == 0);
  const Lock fork = bench.insert("12349", {}, kFirst);
  CHECK(bench.tenants.unkept(fork.node) == 1);
  CHECK(bench.tenants.keep(half) == 0);
  CHECK(bench.tenants.unkeep(lock) == 0);
  CHECK(bench.tenants.unkeep(lock) == 2);
  CHECK(bench.tenants.unkept(lock.node) == 2);
  CHECK(bench.tenants.keep(fork) == 1);
  CHECK(bench.tenants.unkeep(half) == 0);
  CHECK(bench.tenants.unkeep(fork) == 5);
  for (const WalkedNode& node : walk(*bench.index))
    CHECK(bench.tenants.unkept(node.facts.id) == node.facts.begin + node.facts.length);
  for (const Lock& one : {lock, half, fork}) bench.index->release(one);
  CHECK(bench.evict(kAcme, 100) == 7);
}

TEST_SUITE_END();
