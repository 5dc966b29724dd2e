/// Figures of tenants with shares: bounded, and totals that never fall.
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <metrics/families.h>
#include <metrics/server.h>
#include <metrics/tally.h>
#include <support/engines.h>

#include "metrics_text.h"

using namespace canopy;
using namespace canopy::test;

namespace {

void serve(Engine& engine, const std::string& tenant, Token first, std::uint32_t count) {
  const auto prompt = tokens(first, count);
  RequestSpec spec = arrival(prompt);
  spec.space = engine.intern({.tenant = tenant});
  Request request = engine.begin(spec);
  if (request.reserve(count)) request.finish(count);
}

}  // namespace

TEST_CASE("metrics of tenants: bounded to the largest, with the rest in one row, and any name") {
  const auto engine = engine_of(
      "page_size: 4\nindex: radix\n"
      "groups: { full: { reach: path, capacity: 400, allocator: free_list, eviction: lru } }\n"
      "feed: { heap: { events: 65536 } }\n"
      "tenants: { 'a\"\\{}=': { floor: 40, ceiling: 200 } }\n");
  FeedReader reader(engine->feed()->writer().header());
  metrics::Tally tally("serve-1", 2);
  tally.attach(engine->feed()->writer().header());
  const auto look = [&] {
    engine->poll();
    Event events[512];
    for (std::size_t count = 0; reader.read(events, std::size(events), count) == FeedReader::Outcome::events;)
      tally.take({events, count});
    return tally.figures();
  };
  serve(*engine, "a\"\\{}=", 100, 41);
  serve(*engine, "(other)", 5000, 21);
  for (Token first = 1000; first < 4000; first += 100) serve(*engine, "c" + std::to_string(first), first, 41);
  const metrics::Figures figures = look();
  REQUIRE(figures.shares.size() == 3);
  CHECK(figures.shares.back().label == "(other)");
  std::uint64_t cached = 0, evicted = 0, paid = 0, taken = 0;
  for (const metrics::ShareFigures& row : figures.shares)
    cached += row.cached.value_or(0), evicted += row.evicted, paid += row.paid, taken += row.taken;
  const Sizes sizes = engine->index().sizes(0);
  CHECK(cached == sizes.evictable + sizes.protected_);
  CHECK(evicted == engine->counters().evicted_tokens);
  CHECK(paid == taken);
  CHECK(paid > 0);
  std::map<std::string, double> samples;
  std::map<std::string, std::string> kinds;
  const std::string text = metrics::text_of(metrics::families_of(figures, {metrics::Names::canopy}, {}));
  CHECK(flaw_of_metrics(text, samples, kinds) == "");
  CHECK(text.find("canopy_tenant_evicted_tokens_total{") != std::string::npos);
  CHECK(labels_twice(samples).empty());
  // A row stays with its tenant, so that totals do not fall.
  std::vector<std::string> labels;
  for (const metrics::ShareFigures& row : figures.shares) labels.push_back(row.label);
  for (Token first = 9000; first < 9900; first += 100) serve(*engine, "late", first, 41);
  std::vector<std::string> later;
  for (const metrics::ShareFigures& row : look().shares) later.push_back(row.label);
  CHECK(labels == later);
}

TEST_CASE(
    "metrics of tenants: totals stay when the engine ends and go on with the next one, what is present does not") {
  const std::string file =
      "page_size: 4\nindex: radix\n"
      "groups: { full: { reach: path, capacity: 80, allocator: free_list, eviction: lru } }\n"
      "feed: { heap: { events: 65536 } }\n"
      "tenants: { a: { floor: 40, ceiling: 60 } }\n";
  metrics::Tally tally("serve-1", 8);
  std::map<std::string, std::uint64_t> evicted;
  for (int life = 0; life < 2; ++life) {
    CAPTURE(life);
    const auto engine = engine_of(file);
    FeedReader reader(engine->feed()->writer().header());
    tally.attach(engine->feed()->writer().header());
    for (Token first = 1000; first < 2000; first += 100) serve(*engine, life == 0 ? "a" : "b", first, 41);
    engine->poll();
    Event events[512];
    for (std::size_t count = 0; reader.read(events, std::size(events), count) == FeedReader::Outcome::events;)
      tally.take({events, count});
    REQUIRE(tally.in_step());
    for (const TenantUse& use : engine->tenants()) evicted[use.name] += use.evicted;
    for (const bool there : {true, false}) {
      CAPTURE(there);
      if (!there) tally.detach();
      std::uint64_t sum = 0, engines = 0;
      for (const metrics::ShareFigures& row : tally.figures().shares) {
        sum += row.evicted;
        CHECK(row.cached.has_value() == there);
      }
      for (const auto& [name, tokens] : evicted) engines += tokens;
      CHECK(engines > 0);
      CHECK(sum == engines);
    }
  }
}
