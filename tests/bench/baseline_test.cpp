#include <conformance/model/effort.h>
#include <conformance/model/plugins.h>
#include <conformance/model/random_ops.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace {

using namespace canopy;
using namespace canopy::test;

/// The baseline, offered by a plugin as any index is, beside the policies and allocators that are ours.
void with_baseline() {
  static const bool chosen = [] {
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    test_only({programs.parent_path() / "bench_plugins" / "baseline.so", {}, "baseline"});
    return true;
  }();
  static_cast<void>(chosen);
}

}  // namespace

TEST_CASE("the original's algorithm, as a baseline, does what the models say: hits, pages, victims and locks") {
  with_baseline();
  std::uint64_t seed = 7'000;
  for (const char* policy : {"lru", "lfu", "priority", "fifo"})
    for (const Units page_size : {1U, 4U, 16U})
      for (const Units overlap : {0U, 1U}) {
        CAPTURE(policy);
        WorldConfig config;
        config.index = "baseline", config.policy = policy, config.page_size = page_size, config.overlap = overlap;
        config.namespaces = 3, config.walk_every = 50;
        for (std::uint64_t world = 0; world < with_effort(2); ++world) {
          const Program program = random_program(++seed, config, 4'000);
          if (const auto failure = run_program(program)) FAIL(report(program, *failure));
        }
      }
}

TEST_CASE("a group with a reach is refused in a sentence: the original has none") {
  with_baseline();
  const auto policy = make<EvictionStrategy>("lru", {});
  const Group window{"window", 64, kUnlimited, policy.get()};
  const PrefixIndex::Context context{1, 0, {&window, 1}};
  CHECK_THROWS_WITH_AS(make<PrefixIndex>("baseline", context), doctest::Contains("needs the whole path"), Mismatch);
}
