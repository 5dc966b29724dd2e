#pragma once

#include "random.h"
#include "request_source.h"
#include "traffic.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace canopy::workload {

/// One item of a mix: a kind of traffic, its share, and the common properties of its requests.
struct MixItem {
  std::unique_ptr<Traffic> traffic;
  std::uint64_t share = 1;  ///< share of the requests, relative to the others
  std::int32_t priority = 0;
  std::uint64_t hints = 0;           ///< hints of all its requests
  std::string space;                 ///< namespace; for a kind with its own namespaces, the part before '/'
  std::uint64_t from_ms = 0;         ///< time of its first request
  std::vector<Retention> retention;  ///< retention of all its requests
};

/// The number of requests and their rate.
struct MixConfig {
  std::uint64_t seed = 1, requests = 1000, arrivals_per_second = 20;
  void visit(Options& o) {
    o.number("seed", seed, 1, ~std::uint64_t{0}, "seed; a different one gives a different workload of the same kind");
    o.number("requests", requests, 1, 1'000'000'000, "number of requests");
    o.number("arrivals_per_second", arrivals_per_second, 1, 1'000'000, "arrivals per second, on average");
  }
};

/// Several kinds of traffic as one stream. Draws the next kind by the shares, and sets the request's time. A draw of an
/// item that has not begun yet makes no request, so the rate of the others does not depend on it.
class Mixer final : public RequestSource {
 public:
  /// REQUIRES: `items` is not empty.
  Mixer(const MixConfig& config, std::vector<MixItem> items);

  Result<bool> next(ClientRequest& request) override;
  double progress() const override { return static_cast<double>(issued_) / static_cast<double>(config_.requests); }
  std::uint64_t seed() const override { return config_.seed; }

 private:
  /// Chooses the next item. Returns false if it has not begun at `now_ms`.
  bool draw(std::uint64_t now_ms);

  MixConfig config_;
  std::vector<MixItem> items_;
  std::vector<std::uint64_t> owed_;  ///< draws that an item has used in advance, by a burst
  std::uint64_t shares_ = 0, issued_ = 0, now_ns_ = 0, arrival_ms_ = 0;
  std::uint64_t first_ms_ = 0;  ///< time at which the first item begins
  Random random_;
  std::size_t current_ = 0;
  bool burst_ = false;  ///< true if the next request arrives together with the last one
};

}  // namespace canopy::workload
