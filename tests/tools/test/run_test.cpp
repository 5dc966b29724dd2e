#include <bench/bench.h>
#include <bench/subject.h>
#include <doctest/doctest.h>

#include <string>

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

TEST_CASE("a measurement that is impossible gives an error message with the possible ones") {
  bench::Options options;
  options.quick = true;
  options.only = "no such row";
  CHECK(run(options, ours(), {})
            .error()
            .text.find("they begin with replay; policy; tenants; engine; c; feed; waiting; match") !=
        std::string::npos);
  options.index = "radixx";
  CHECK(run(options, ours(), {}).error().text.find("Did you mean 'radix'?") != std::string::npos);
  options.index = "null";
  CHECK(run(options, ours(), {}).error().text.find("keeps nothing") != std::string::npos);
}
