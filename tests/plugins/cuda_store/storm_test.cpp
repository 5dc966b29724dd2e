/// A whole engine on the device, whose pool grows and shrinks at random under random requests: every reused token has
/// its bytes, and what happens is what happens with the store on the host.
#include <conformance/model/effort.h>
#include <fmt/format.h>

#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>

#include <support/random_requests.h>
#include "support.h"

namespace cuda_store_test {
namespace {

std::string yaml_of(Units page, const char* groups, const std::string& store) {
  std::string yaml = fmt::format("page_size: {}\nindex: radix\ngroups:\n", page);
  for (std::string rest = groups; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string group = rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    const std::string reach = group == "window" ? std::to_string(2 * page + page / 2 + 1) : "path";
    yaml += fmt::format("  {}: {{ reach: {}, capacity: {}, start: {}, allocator: free_list, eviction: lru }}\n", group,
                        reach, 200 * page, 9 * page);
  }
  return yaml + "store: { " + store + " }\nsegment_pages: 8\nidle_segments: 1\n";
}

Reached storm(const std::string& yaml, std::uint64_t seed) {
  auto document = parse_yaml(yaml, "storm");
  REQUIRE_MESSAGE(document, (document ? "" : document.error().text));
  auto config = read_engine_config(*document, plugins());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  auto engine = Engine::create(*config, plugins());
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
  RandomRequests requests(**engine, plugins(), seed, 2, true, true);
  try {
    requests.run(with_effort(12'000));
    requests.finish();
  } catch (const Mismatch& difference) {
    FAIL(std::string(difference.what()));
  }
  return requests.reached();
}

}  // namespace

TEST_SUITE_BEGIN("storm");

TEST_CASE("resizes at random under requests at random lose no byte and change nothing that happens") {
  const Device device;
  std::uint64_t seed = 0;
  Reached all;
  for (const Units page : {1U, 4U, 16U})
    for (const char* groups : {"full", "full window"}) {
      CAPTURE(page);
      CAPTURE(std::string(groups));
      ++seed;
      const std::string rows = "{ layers: 2, streams: { k: 8, v: 4 }";
      const Reached host = storm(yaml_of(page, groups, "host: " + rows + " }"), seed);
      const Reached cuda = storm(
          yaml_of(page, groups, "cuda: " + rows + ", addresses: 1073741824, headroom: 0, staging: 4194304 }"), seed);
      CHECK(cuda.requests == host.requests);
      CHECK(cuda.hits == host.hits);
      CHECK(cuda.evictions == host.evictions);
      CHECK(cuda.repointed == host.repointed);
      CHECK(cuda.resized == host.resized);
      CHECK(cuda.drained == host.drained);
      CHECK(cuda.blocked == host.blocked);
      all.add(cuda);
    }
  MESSAGE(all.requests, " requests, ", all.hits, " with hits, ", all.evictions, " evictions, ", all.resized,
          " resizes, ", all.drained, " of them at once, ", all.blocked, " had to wait");
  if (effort() < 1) return;
  CHECK(all.hits > 300);
  CHECK(all.resized > 100);
  CHECK(all.drained > 10);
}

TEST_SUITE_END();

}  // namespace cuda_store_test
