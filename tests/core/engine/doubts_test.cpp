/// The doubts that an engine reports of its figures after it was refused memory.
#include <support/address_limit.h>
#include <support/engines.h>
#include <support/sanitizers.h>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr const char* kTiers = R"(
page_size: 4
index: radix
groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }
store: { host: { layers: 2, streams: { k: 8, v: 12 } } }
tiers: { host: { capacity: 4000, eviction: lru, write: write_back } }
)";

}  // namespace

TEST_CASE("doubts: an engine that has all its memory has none") {
  const auto engine = engine_of(kTiers);
  leave(*engine, tokens(1, 40));
  engine->make_free(0, 16);
  engine->turn(1'000'000);
  CHECK(engine->doubts().empty());
  CHECK(engine->tiers().counters().at(Counter::refused_pages_host, 0) == 0);
}

TEST_CASE("doubts: a host tier without memory is one, with the pages that were wanted and those that have memory") {
  if (kAddressSanitizer || kThreadSanitizer) {
    MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
    return;
  }
  const auto engine = engine_of(kTiers);
  leave(*engine, tokens(1, 40));
  {
    const AddressLimit limit(std::uint64_t{16} << 20);  // less than the tier takes at a time
    engine->make_free(0, 16);
  }
  const Doubts doubts = engine->doubts();
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0].kind == Doubt::Kind::memory);
  CHECK(doubts[0].count == 1000);
  CHECK(doubts[0].sentence ==
        "host tier, group 'full': the system refused memory for 1000 pages: the tier has memory for 0 pages of 4096 "
        "bytes "
        "(0.0 MiB), and 1000 pages of 4000 tokens were wanted");
  const std::uint64_t refused = engine->tiers().counters().at(Counter::refused_pages_host, 0);
  CHECK(refused >= 1000);
  {
    const AddressLimit limit(std::uint64_t{16} << 20);
    leave(*engine, tokens(50, 40));
    engine->make_free(0, 16);
  }
  CHECK(engine->tiers().counters().at(Counter::refused_pages_host, 0) == refused);  // each page once
  // It stays: the figures of the time before are those of a smaller tier.
  leave(*engine, tokens(100, 40));
  engine->make_free(0, 16);
  engine->turn(1'000'000);
  CHECK(engine->tiers().counters()[Counter::written_tokens_host] > 0);
  REQUIRE(engine->doubts().size() == 1);
  CHECK(engine->doubts()[0].sentence.find("has memory for 1000 pages") != std::string::npos);
}
