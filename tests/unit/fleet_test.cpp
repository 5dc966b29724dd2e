/// Simulated workers behind a router: the load's model, one worker beside a replay, and what formulas bring.
#include <doctest/doctest.h>
#include <fleet/engines.h>
#include <replay/replay.h>
#include <support/engines.h>
#include <support/source_folder.h>
#include <workload/generator.h>

#include <numeric>

namespace {

using namespace canopy;
using namespace canopy::test;
using fleet::Load;
using scheduling::Route;

const char* const kEngine =
    "page_size: 16\nindex: radix\n"
    "groups: { full: { reach: path, capacity: 60000, allocator: free_list, eviction: lru } }\n";

std::unique_ptr<workload::RequestSource> chat() {
  auto source = workload::open_generator(std::string(kSourceFolder) + "/configs/workloads/chat.yaml", 3);
  REQUIRE(source);
  return std::move(*source);
}

EngineConfig config() {
  auto document = parse_yaml(kEngine, "test");
  REQUIRE(document);
  auto read = read_engine_config(*document, plugins());
  REQUIRE(read);
  return *read;
}

fleet::Report routed(Route route, std::size_t workers) {
  auto caches = fleet::EngineCaches::create(config(), plugins(), workers);
  REQUIRE(caches);
  fleet::Options options;
  options.rules.route = route;
  options.limit = 1500;
  const auto source = chat();
  auto report = fleet::run(**caches, *source, options, {});
  REQUIRE(report);
  CHECK(report->violations == 0);
  CHECK(report->requests == 1500);
  return *report;
}

}  // namespace

TEST_CASE("the load's model: prompts one after the other, then a token a step") {
  Load load({1000, 10});
  load.reach(0);
  CHECK(load.add(0, 500, 3, 7) == 500'000);
  CHECK(load.add(0, 250, 0, 1) == 750'000);  // behind the first
  CHECK(load.requests() == 2);
  CHECK(load.blocks() == 8);
  load.reach(250'000);
  CHECK(load.prefill_tokens() == 500);
  load.reach(530'000);
  CHECK(load.requests() == 1);
  CHECK(load.blocks() == 1);
  load.reach(750'000);
  CHECK(load.requests() == 0);
  CHECK(load.prefill_tokens() == 0);
  CHECK(load.add(1'000'000, 100, 1, 1) == 1'100'000);
}

TEST_CASE("one worker behind any router finds what a replay finds") {
  const auto engine = Engine::create(config(), plugins());
  REQUIRE(engine);
  replay::Options options;
  options.limit = 1500;
  const auto source = chat();
  const auto replayed = replay::run(**engine, *source, options, {});
  REQUIRE(replayed);
  CHECK(replayed->hit_tokens > 0);
  for (const Route route : {Route::round_robin, Route::dynamo}) {
    const fleet::Report report = routed(route, 1);
    CHECK(report.hit_tokens == replayed->hit_tokens);
    CHECK(report.prompt_tokens == replayed->prompt_tokens);
    CHECK(report.rejected == replayed->rejected);
    CHECK(report.imbalance() == doctest::Approx(1));
  }
}

TEST_CASE("routers that know the caches find more than those that do not, and a run is repeatable") {
  const fleet::Report blind = routed(Route::round_robin, 4), aware = routed(Route::cache_aware, 4);
  CHECK(aware.hit_tokens > blind.hit_tokens);
  for (const Route route : {Route::dynamo, Route::llm_d, Route::cache_aware_zmq}) {
    CAPTURE(scheduling::kRouteNames[static_cast<std::size_t>(route)]);
    CHECK(routed(route, 4).hit_tokens > blind.hit_tokens);
  }
  CHECK(routed(Route::dynamo, 4).hit_tokens == routed(Route::dynamo, 4).hit_tokens);
  std::uint64_t requests = 0;
  for (const fleet::WorkerReport& worker : aware.workers) requests += worker.requests;
  CHECK(requests == aware.requests);
  CHECK(blind.workers[0].requests == 375);
}
