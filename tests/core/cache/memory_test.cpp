#include <support/address_limit.h>
#include <support/engines.h>
#include <support/sanitizers.h>

#include <array>
#include <fstream>

using namespace canopy;
using namespace canopy::test;

namespace {

/// A request that computes `prompt`, which must be long enough for any.
void serve(Engine& engine, std::vector<Token>& prompt, Token first, std::size_t count) {
  std::iota(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(count), first);
  RequestSpec spec;
  spec.prompt = std::span<const Token>(prompt).first(count);
  Request request = engine.begin(spec);
  if (request.reserve(static_cast<std::uint32_t>(count))) request.finish(static_cast<std::uint32_t>(count));
}

constexpr const char* kLarge = R"(
page_size: 4
index: { radix: { prefault: false } }
groups: { full: { reach: path, capacity: 40000000, allocator: free_list, eviction: lfu } }
store: none
)";

}  // namespace

TEST_CASE("an index that runs out of memory says so, loses no page, and serves on when there is memory again") {
  if (kAddressSanitizer || kThreadSanitizer) {
    MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
    return;
  }
  // Short prompts exhaust the tables of nodes and queues first, long ones the storage of runs.
  for (const std::size_t length : {std::size_t{5}, std::size_t{3'000}}) {
    CAPTURE(length);
    const auto engine = engine_of(kLarge);
    std::vector<Token> prompt(4'000);
    serve(*engine, prompt, 1, prompt.size());
    Request held = engine->begin(arrival(prompt));
    std::uint32_t served = 0;
    {
      const AddressLimit limit(std::uint64_t{6} << 20);
      for (; served < 400'000 && engine->index().use().inserts_cut_short < 100; ++served) {
        serve(*engine, prompt, 100'000 + served * 7'000, length);
        if (served % 64 == 0) engine->make_free(0, engine->pool(0).occupancy().free + 8);
      }
    }
    CHECK(engine->index().use().inserts_cut_short >= 100);
    CHECK(engine->counters().requests == served + 1);  // and the one that is held, which has no pages
    held.abort();
    check_settled(*engine);
    while (engine->make_free(0, engine->pool(0).occupancy().free + 1)) {
    }
    CHECK(engine->index().sizes(0).evictable == 0);
    const std::uint64_t cut_short = engine->index().use().inserts_cut_short;
    serve(*engine, prompt, 9, 4'000);
    CHECK(engine->index().sizes(0).evictable == 4'000);
    CHECK(engine->index().use().inserts_cut_short == cut_short);
    check_settled(*engine);
  }
}

TEST_CASE("requests keep their order where there is no memory to weigh them") {
  if (kAddressSanitizer || kThreadSanitizer) {
    MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
    return;
  }
  const auto policy = *plugins().make<EvictionStrategy>("lru", {});
  const std::array<Group, 1> group{Group{"full", kWholePath, kUnlimited, policy.get()}};
  const auto index = *plugins().make<PrefixIndex>("radix", {1, 0, group}, "{ prefault: false }");
  const std::vector<NodeId> ends(4'000'000);
  std::vector<std::uint32_t> order(ends.size(), 7), as_they_came(ends.size());
  std::iota(as_they_came.begin(), as_they_came.end(), 0U);
  {
    const AddressLimit limit(std::uint64_t{1} << 20);
    index->scheduling()->order_by_weight(ends, order);
  }
  CHECK((order == as_they_came));
}

TEST_CASE("the queue of a policy has room for every node that was ever held, without memory for a longer ring") {
  if (kAddressSanitizer || kThreadSanitizer) {
    MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
    return;
  }
  constexpr std::uint32_t kRequests = 40'000;
  const auto engine = engine_of(kLarge, {"groups.full.eviction=lru"});
  std::vector<Request> running;
  running.reserve(kRequests);
  std::vector<Token> prompt(4);
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    std::iota(prompt.begin(), prompt.end(), i * 10);
    running.push_back(engine->begin(arrival(prompt)));
    REQUIRE(running.back().reserve(4));
    running.back().commit(4);
  }
  CHECK(engine->index().sizes(0).evictable == 0);
  {
    const AddressLimit limit(std::uint64_t{64} << 10);
    running.clear();
  }
  CHECK(engine->index().sizes(0).evictable == 4 * kRequests);
  check_settled(*engine);
  while (engine->make_free(0, engine->pool(0).occupancy().free + 1)) {
  }
  CHECK(engine->index().sizes(0).evictable == 0);
  check_settled(*engine);
}
