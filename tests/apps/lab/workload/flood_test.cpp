/// The workload flood.yaml: a floor keeps a small tenant's hits, whatever the policy.
#include <canopy/eviction_strategy.h>
#include <doctest/doctest.h>
#include <replay/replay.h>
#include <support/engines.h>
#include <support/source_folder.h>
#include <workload/generator.h>

#include <memory>
#include <string>
#include <utility>

namespace {

using namespace canopy;
using namespace canopy::test;
using namespace canopy::workload;

constexpr std::uint64_t kRequests = 4000;
constexpr const char* kSmallTenant = "small";

/// The requests of the small tenant alone.
class Alone final : public RequestSource {
 public:
  explicit Alone(std::unique_ptr<RequestSource> all) : all_(std::move(all)) {}
  Result<bool> next(ClientRequest& request) override {
    while (read_++ < kRequests) {
      auto more = all_->next(request);
      if (!more || !*more || request.space == kSmallTenant) return more;
    }
    return false;
  }
  double progress() const override { return all_->progress(); }

 private:
  std::unique_ptr<RequestSource> all_;
  std::uint64_t read_ = 0;
};

/// Returns the tokens that the small tenant hits.
std::uint64_t hits_of(const std::string& policy, const char* capacity, const char* tenants, bool alone) {
  auto source = open_generator(kSourceFolder + std::string("/configs/workloads/flood.yaml"), 0);
  REQUIRE(source);
  if (alone) *source = std::make_unique<Alone>(std::move(*source));
  const auto engine =
      engine_of("page_size: 16\nindex: radix\ngroups: { full: { reach: path, capacity: " + std::string(capacity) +
                ", allocator: free_list, eviction: " + policy + " } }\n" + tenants);
  std::uint64_t hits = 0;
  replay::Options options;
  options.limit = kRequests;
  options.each = [&](const ClientRequest& client, std::uint32_t matched) {
    if (client.space == kSmallTenant) hits += matched;
  };
  const auto report = replay::run(*engine, **source, options, {});
  REQUIRE(report);
  CHECK(report->violations == 0);
  CHECK(report->rejected == 0);
  return hits;
}

}  // namespace

TEST_CASE("flood: with a floor, a small tenant keeps 95 % of the hits that it has alone in a pool of that size") {
  constexpr const char* kFloor = "tenants: { small: { floor: 200k } }\n";
  for (const std::string& policy : plugins().names(EvictionStrategy::kInterface)) {
    const std::uint64_t alone = hits_of(policy, "200k", "", true), flooded = hits_of(policy, "500k", kFloor, false);
    CAPTURE(policy);
    CAPTURE(alone);
    CHECK(alone > 0);
    CHECK(100 * flooded >= 95 * alone);
  }
  // Without it, the flood takes a part of them.
  CHECK(100 * hits_of("lru", "500k", "", false) < 85 * hits_of("lru", "200k", "", true));
}
