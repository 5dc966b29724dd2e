#pragma once

#include "random.h"
#include "request_source.h"
#include "traffic.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace canopy::workload {

/// One item of a mix: a kind of traffic, how much of it, and what all of its requests have in common.
struct MixItem {
  std::unique_ptr<Traffic> traffic;
  std::uint64_t share = 1;  ///< of the requests, against the shares of the others
  std::int32_t priority = 0;
  std::uint64_t hints = 0;  ///< of all its requests
  std::string space;        ///< namespace; of a kind that has namespaces of its own, the part before '/'
};

/// How many requests, and how fast they come.
struct MixConfig {
  std::uint64_t seed = 1, requests = 1000, arrivals_per_second = 20;
  void visit(Options& o) {
    o.number("seed", seed, 1, ~std::uint64_t{0}, "another seed, another workload of the same kind");
    o.number("requests", requests, 1, 1'000'000'000, "how many in all");
    o.number("arrivals_per_second", arrivals_per_second, 1, 1'000'000, "on average");
  }
};

/// Several kinds of traffic as one stream. Draws by the shares which kind is next, and gives the request its time.
class Mixer final : public RequestSource {
 public:
  /// REQUIRES: at least one item.
  Mixer(const MixConfig& config, std::vector<MixItem> items);

  Result<bool> next(ClientRequest& request) override;
  double progress() const override { return static_cast<double>(issued_) / static_cast<double>(config_.requests); }
  std::uint64_t seed() const override { return config_.seed; }

 private:
  void draw();

  MixConfig config_;
  std::vector<MixItem> items_;
  std::vector<std::uint64_t> owed_;  ///< draws that an item has had in advance, by a burst
  std::uint64_t shares_ = 0, issued_ = 0, now_ns_ = 0, arrival_ms_ = 0;
  Random random_;
  std::size_t current_ = 0;
  bool burst_ = false;  ///< the next request comes with the last one
};

}  // namespace canopy::workload
