#include <bench/bench.h>
#include <bench/replay_plan.h>
#include <bench/subject.h>
#include <doctest/doctest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::bench;

const Registry& ours() {
  static const Registry registry = [] {
    Registry all;
    all.scan(own_plugin_folder(), Trust::as_ourselves);
    return all;
  }();
  return registry;
}

}  // namespace

TEST_CASE("the index and the original's algorithm hit the same tokens of a replay that evicts") {
  bench::Options options;
  options.quick = true;
  options.only = "replay: memory, page 64";
  const auto report = run(options, ours(), {});
  REQUIRE_MESSAGE(report, (report ? "" : report.error().text));
  REQUIRE(report->rows.size() == 1);
  REQUIRE(report->remarks.size() == 1);
  CHECK_MESSAGE(report->remarks[0].find(", equal") != std::string::npos, report->remarks[0]);
  CHECK(report->source == "mixed.yaml");
}

TEST_CASE("what cannot be measured is a sentence that names what can") {
  bench::Options options;
  options.quick = true;
  options.only = "no such row";
  CHECK(run(options, ours(), {}).error().text.find("they begin with replay; policy; engine; feed; match") != std::string::npos);
  options.index = "radixx";
  CHECK(run(options, ours(), {}).error().text.find("Did you mean 'radix'?") != std::string::npos);
  options.index = "null";
  CHECK(run(options, ours(), {}).error().text.find("keeps nothing") != std::string::npos);
}

TEST_CASE("the floor's memory has every page in one place, uses again what left, and grows no further than it must") {
  ReplayPlan plan(4);
  std::vector<Page> first(10), second(6);
  std::iota(first.begin(), first.end(), 1U);
  std::iota(second.begin(), second.end(), 11U);
  plan.matched({});
  plan.added(first);
  plan.left(std::span(first).last(7));
  plan.matched(std::span(first).first(3));
  plan.added(second);
  CHECK(plan.words() == 40);
  CHECK(plan.requests()[0].added.count == 40);
  CHECK(plan.requests()[1].added.count == 24);
  CHECK(plan.requests()[1].added.at == 12);
  plan.matched(std::vector<Page>{1, 2, 3, 11, 12});
  REQUIRE(plan.pieces().size() == 2);
  CHECK(plan.pieces()[0].count == 12);
  CHECK(plan.pieces()[1].count == 20);
  CHECK(plan.requests()[2].pieces_end == 2);
}
