/// The routers' formulas: what each looks at first, its constants, its ties.
#include <canopy/scheduling/routing.h>
#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace canopy::scheduling;

RouteWorker worker(std::uint32_t device, std::uint64_t requests = 0, std::uint64_t tree = 0) {
  RouteWorker one;
  one.overlap[0] = device, one.requests = requests, one.tree_blocks = tree;
  return one;
}

std::size_t chosen(Route route, const std::vector<RouteWorker>& workers, RoutePrompt prompt = {160, 16}) {
  RouteRules rules;
  rules.route = route;
  return Router(rules, 1).choose(workers, prompt);
}

}  // namespace

TEST_CASE("round robin takes turns, random and power of two draw every worker, the latter the emptier of two") {
  RouteRules rules;
  Router turns(rules, 1);
  const std::vector<RouteWorker> three(3);
  for (std::size_t i = 0; i < 7; ++i) CHECK(turns.choose(three, {}) == i % 3);
  for (const Route route : {Route::random, Route::power_of_two}) {
    rules.route = route;
    Router router(rules, 5);
    std::vector<int> times(3);
    for (int i = 0; i < 300; ++i) ++times[router.choose(three, {})];
    for (const int one : times) CHECK(one > 50);
  }
  Router two(rules, 5);
  for (int i = 0; i < 20; ++i) CHECK(two.choose(std::vector{worker(0, 9), worker(0, 3)}, {}) == 1);
  CHECK(two.choose(std::vector{worker(0, 9)}, {}) == 0);
  CHECK(chosen(Route::least_loaded, {worker(9, 4), worker(0, 2), worker(0, 2)}) == 1);
}

TEST_CASE("a seed's lots are SplitMix64's, on every machine and in every release") {
  RouteRules rules;
  rules.route = Route::random;
  Router router(rules, 1234567);
  const std::vector<RouteWorker> thousand(1000);
  // The generator's first numbers for this seed end in these digits.
  for (const std::size_t lot : {317U, 973U, 423U, 431U, 821U}) CHECK(router.choose(thousand, {}) == lot);
}

TEST_CASE("cache_aware: overlap, then load, then the smaller tree, load alone beyond the imbalance") {
  const auto of = [](const std::vector<RouteWorker>& workers) { return chosen(Route::cache_aware, workers); };
  CHECK(of({worker(2), worker(5, 30), worker(1)}) == 1);
  CHECK(of({worker(5, 3), worker(5, 2)}) == 1);
  CHECK(of({worker(5, 2, 80), worker(5, 2, 70)}) == 1);
  CHECK(of({worker(0, 2, 1), worker(0, 1, 9)}) == 1);
  CHECK(of({worker(5, 32), worker(0, 0)}) == 0);  // 32 more is no imbalance yet
  CHECK(of({worker(5, 33), worker(0, 0)}) == 1);
  CHECK(of({worker(5, 400), worker(0, 364)}) == 0);  // 36 more, but not beyond 1.1 times
  CHECK(of({worker(5, 404), worker(0, 364)}) == 1);
}

TEST_CASE("cache_aware_zmq: the least loaded of those with more than half") {
  const auto of = [](const std::vector<RouteWorker>& workers) { return chosen(Route::cache_aware_zmq, workers); };
  CHECK(of({worker(10, 9), worker(6, 5), worker(5, 0)}) == 1);  // 5 of 10 is not more than half
  CHECK(of({worker(5, 9), worker(5, 3)}) == 1);
  CHECK(of({worker(10, 40), worker(0, 1)}) == 1);
}

TEST_CASE("dynamo: blocks to prefill less credit, and blocks in use") {
  RouteRules rules;
  rules.route = Route::dynamo;
  const Router router(rules, 1);
  RouteWorker one;
  one.overlap = {4, 2, 4};
  one.prefill_tokens = 32, one.decode_blocks = 7, one.requests = 3;
  const std::vector<RouteWorker> workers = {one, RouteWorker{}};
  // (32 + 160) / 16 - (4 + 0.75 * 2 + 0.25 * 4), and 7 blocks in use with 10 more
  CHECK(router.value_of(workers, 0, {160, 16}) == doctest::Approx(12 - 6.5 + 17));
  CHECK(router.value_of(workers, 1, {160, 16}) == doctest::Approx(20));
  one.overlap = {400, 0, 0};
  CHECK(router.value_of(std::vector{one}, 0, {160, 16}) == doctest::Approx(17));  // no credit beyond what waits
  rules.credit_decay = 1, rules.request_weight = 2;
  one.overlap = {4, 0, 0};
  // 2 blocks more wait than elsewhere, of a prompt of 10: the credit is 4 / 1.2
  CHECK(Router(rules, 1).value_of(std::vector{one, RouteWorker{}}, 0, {160, 16}) ==
        doctest::Approx(12 - 4 / 1.2 + 17 + 6));
  CHECK(chosen(Route::dynamo, {worker(1), worker(3), worker(2)}) == 1);
  rules = {};
  rules.route = Route::dynamo;
  Router lots(rules, 3);
  std::vector<int> times(2);
  for (int i = 0; i < 100; ++i) ++times[lots.choose(std::vector<RouteWorker>(2), {160, 16})];
  CHECK(times[0] > 20);
  CHECK(times[1] > 20);
  rules.temperature = 1;
  Router warm(rules, 3);
  times = {0, 0};
  for (int i = 0; i < 1000; ++i) ++times[warm.choose(std::vector{worker(0), worker(9)}, {160, 16})];
  CHECK(times[0] == doctest::Approx(1000 / (1 + 2.71828)).epsilon(0.15));
}

TEST_CASE("llm_d: blocks weighted by tier") {
  RouteWorker host;
  host.overlap = {0, 5, 0};
  CHECK(chosen(Route::llm_d, {host, worker(4)}) < 2);  // 4.0 and 4.0
  host.overlap = {0, 6, 0};
  CHECK(chosen(Route::llm_d, {worker(4), host}) == 1);
  host.overlap = {0, 0, 13};
  CHECK(chosen(Route::llm_d, {worker(4), host}) == 0);  // 3.9
}
