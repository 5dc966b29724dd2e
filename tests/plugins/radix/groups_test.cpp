#include <conformance/model/effort.h>
#include <conformance/model/random_ops.h>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

/// Random programs over the groups with pages of 1 and of 4 units. `reaches` in pages; the half page less is a window
/// that begins inside a page.
void run_groups(const std::vector<Units>& reaches, bool windows) {
  constexpr std::uint64_t kWorlds = 60, kApart = 40;  // the last ones keep tenants apart
  constexpr std::size_t kOperations = 400;
  for (const Units page_size : {1U, 4U}) {
    Coverage coverage;
    for (std::uint64_t seed = 1; seed <= with_effort(kWorlds + kApart); ++seed) {
      WorldConfig config;
      config.page_size = page_size;
      config.walk_every = 10;
      config.overlap = seed % 5 == 0;
      config.namespaces = seed % 3 == 0 ? 3 : 1;
      if (seed > with_effort(kWorlds)) config.tenants = 3, config.tenant_policies = {"fifo", "lfu", "hazard", "sieve"};
      for (std::size_t g = 0; g < reaches.size(); ++g) {
        Units reach = reaches[g];
        if (reach != kWholePath && reach > 1) reach = reach * page_size - (seed % 2 == 0 ? 0 : page_size / 2);
        config.groups.push_back({"g" + std::to_string(g), reach, 0, ""});
      }
      const Program program = random_program(seed, config, kOperations);
      if (const auto failure = run_program(program, &coverage)) FAIL(report(program, *failure));
    }
    fmt::print(
        "{} groups, page {}: {} pages left ({} beside locks), {} tombstones, {} refilled, {} short matches, "
        "{} relaxed, {} unusable, {} stale locks\n",
        reaches.size(), page_size, coverage.left, coverage.left_beside_locks, coverage.tombstones, coverage.refilled,
        coverage.short_matches, coverage.relaxed, coverage.unusable, coverage.refused_locks);
    if (effort() < 1) continue;
    CHECK(coverage.left > 1'000);
    CHECK(coverage.left_beside_locks > 500);
    if (!windows) continue;
    CHECK(coverage.tombstones > 500);
    CHECK(coverage.sights_held > 50);
    CHECK(coverage.sights_broken > 5);
    CHECK(coverage.refilled > 50);
    CHECK(coverage.short_matches > 100);
    CHECK(coverage.relaxed > 100);
    CHECK((coverage.unusable > 100 || reaches.size() == 1));
  }
}

}  // namespace

TEST_CASE("full attention and a window of one page do what the model says") { run_groups({kWholePath, 1}, true); }
TEST_CASE("full attention and a window of three pages do what the model says") { run_groups({kWholePath, 3}, true); }
TEST_CASE("full attention and a window of six pages do what the model says") { run_groups({kWholePath, 6}, true); }
TEST_CASE("full attention, a window and a recurrent state do what the model says") {
  run_groups({kWholePath, 3, 1}, true);
}
TEST_CASE("a model with a window only does what the model says") { run_groups({3}, true); }
TEST_CASE("two groups of full attention are as one") { run_groups({kWholePath, kWholePath}, false); }
