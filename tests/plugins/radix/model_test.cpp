#include <conformance/model/random_ops.h>

#include <conformance/model/effort.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <support/sanitizers.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <span>
#include <vector>

namespace {

using namespace canopy::test;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// One drifts, and one spares.
const std::vector<std::string> kTenantPolicies{"lru", "fifo", "lfu", "mru", "priority", "hazard", "s3_fifo"};

/// Worlds of one page size. CANOPY_OPS multiplies them, CANOPY_SEED replaces the first seed.
Coverage run_worlds(canopy::Units page_size, const std::string& policy, bool tenants = false) {
  // Few operations per world reach the corners of an empty index, many reach the depths of a full one.
  constexpr std::size_t kWorlds = 10, kOperations = 25'000;
  const std::uint64_t worlds = with_effort(kWorlds);
  const std::uint64_t first = from_environment("CANOPY_SEED", 1'000 + page_size);
  Coverage coverage;
  std::uint64_t large = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < worlds; ++i) {
    WorldConfig config;
    config.page_size = page_size;
    config.policy = policy;
    config.overlap = i % 3 == 1;
    config.namespaces = i % 2 == 0 ? 1 : 3;
    if (tenants) config.tenants = 1 + static_cast<std::uint32_t>(i % 4), config.tenant_policies = kTenantPolicies;
    const Program program = random_program(first + i, config, kOperations);
    Coverage reached;
    if (const auto failure = run_program(program, &reached)) FAIL(report(program, *failure));
    large += reached.most_nodes >= 1'000;
    coverage.add(reached);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print(
      "page {:2} {}: {} ops, {:.0f} k/s; {} splits, {} nodes left ({} beside locks, {} after their last child), {} "
      "spare "
      "pages, {} hits, {} stale locks, {} out of pages, {} walks, at most {} nodes, {} large worlds\n",
      page_size, policy, coverage.operations, static_cast<double>(coverage.operations) / took.count() / 1e3,
      coverage.splits, coverage.left, coverage.left_beside_locks, coverage.left_as_new_leaf, coverage.spare_pages,
      coverage.hits, coverage.refused_locks, coverage.out_of_pages, coverage.walks, coverage.most_nodes, large);
  if (!std::getenv("CANOPY_SEED") && effort() >= 1) CHECK(4 * large >= worlds);
  return coverage;
}

/// A generator that misses what is hard would let everything pass. Ten worlds of a foreign seed may be all small.
void check_floors(const Coverage& coverage) {
  if (std::getenv("CANOPY_SEED") || effort() < 1) return;
  CHECK(coverage.splits >= 1'000);
  CHECK(coverage.left >= 10'000);
  CHECK(coverage.left_beside_locks >= 1'000);
  CHECK(coverage.left_as_new_leaf >= 500);
  CHECK(coverage.spare_pages >= 1'000);
  CHECK(coverage.hits >= 5'000);
  CHECK(coverage.refused_locks >= 20);
  CHECK(coverage.out_of_pages >= 100);
  CHECK(coverage.walks >= 200);
  CHECK(coverage.sights_held >= 500);
  CHECK(coverage.sights_gone >= 50);
}

}  // namespace

TEST_CASE("a radix index with pages of 1 token does what the models say") { check_floors(run_worlds(1, "lru")); }
TEST_CASE("a radix index with pages of 4 tokens does what the models say") { check_floors(run_worlds(4, "lru")); }
TEST_CASE("a radix index with pages of 16 tokens does what the models say") { check_floors(run_worlds(16, "lru")); }
TEST_CASE("a radix index with pages of 64 tokens does what the models say") { check_floors(run_worlds(64, "lru")); }

TEST_CASE("a radix index that keeps tenants apart does what the models say") {
  for (const canopy::Units page_size : {1U, 4U}) {
    const Coverage coverage = run_worlds(page_size, "lru", true);
    fmt::print("{} namespaces moved, {} pages left of a tenant, {} nodes cut, {} paths partly kept\n", coverage.moved,
               coverage.left_of_tenant, coverage.cuts, coverage.partly_kept);
    if (std::getenv("CANOPY_SEED") || effort() < 1) continue;
    CHECK(coverage.moved >= 100);
    CHECK(coverage.left_of_tenant >= 1'000);
    CHECK(coverage.cuts >= 100);
    CHECK(coverage.partly_kept >= 10);
  }
}

TEST_CASE("a radix index keeps neither words nor page numbers of what is evicted from the end of a run") {
  constexpr std::uint32_t kLong = 1'000'000;
  const auto lru = make<canopy::EvictionStrategy>("lru", {});
  const std::array groups{canopy::Group{"full", canopy::kWholePath, canopy::kUnlimited, lru.get()}};
  const auto index = make<canopy::PrefixIndex>("radix", {1, 0, groups}, "{ keep_free: 0, prefault: false }");
  std::vector<std::uint32_t> words(kLong);
  std::iota(words.begin(), words.end(), 1U);
  const canopy::Key key{{}, words}, start{{}, std::span(words).first(1'000)};
  const std::uint64_t empty = index->use().bytes;
  index->release(index->insert({}, key, {words}, {}).lock);
  CHECK(index->use().bytes - empty > std::uint64_t{kLong} * 8);
  const canopy::Lock lock = index->match(start, {});
  CHECK(index->evict(0, 1)[0].size() == kLong - 1'000);
  index->evict(0, 0);  // the result of the last call is kept no longer
  CHECK(index->use().bytes - empty < std::uint64_t{kLong});
  index->release(lock);
}

TEST_CASE(
    "the memory that a radix index says it uses is what the process has more of, in whichever queue its nodes wait") {
  if (kSanitized) {
    MESSAGE("SKIPPED: a sanitizer's memory counts as well");
    return;
  }
  const auto resident = [] {
    std::uint64_t all = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> all >> pages;
    return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  };
  constexpr std::uint32_t kNodes = 700'000, kWords = 4;
  for (const char* name : {"lru", "mru"}) {  // in a ring, and in a heap
    CAPTURE(name);
    const auto policy = make<canopy::EvictionStrategy>(name, {});
    const std::array groups{canopy::Group{"full", canopy::kWholePath, canopy::kUnlimited, policy.get()}};
    const auto index = make<canopy::PrefixIndex>("radix", {1, 0, groups}, "{ keep_free: 0, prefault: false }");
    const double before = resident(), empty = static_cast<double>(index->use().bytes);
    std::array<std::uint32_t, kWords> words{};
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      std::iota(words.begin(), words.end(), 1 + i * kWords);
      index->release(index->insert({}, {{}, words}, {words}, {}).lock);
    }
    const double reported = static_cast<double>(index->use().bytes) - empty, grown = resident() - before;
    constexpr double kHugePages = 16 << 20;  // memory may come in huge pages, and be there from another test
    CHECK(reported > grown - kHugePages);
    CHECK(reported < grown + kHugePages);
  }
}

TEST_CASE("every loaded policy with an order the models know evicts in that order") {
  for (const auto& policy : names_of<canopy::EvictionStrategy>()) {
    if (policy == "lru") continue;
    CAPTURE(policy);
    WorldConfig config;
    config.policy = policy;
    for (std::uint64_t seed = 1; seed <= with_effort(4); ++seed) {
      const Program program = random_program(seed, config, 10'000);
      if (const auto failure = run_program(program)) FAIL(report(program, *failure));
    }
  }
}
