#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "replay.h"

namespace canopy::replay {

/// The simulated times that requests waited for their first start.
class Waits {
 public:
  void add(std::uint64_t ms) { ms_.push_back(ms); }

  void report(Report& report) {
    if (ms_.empty()) return;
    report.mean_wait_ms = static_cast<double>(std::accumulate(ms_.begin(), ms_.end(), std::uint64_t{0})) /
                          static_cast<double>(ms_.size());
    // The nearest rank: the smallest wait that at least 95 % do not exceed.
    const auto rank = ms_.begin() + static_cast<std::ptrdiff_t>((ms_.size() * 95 + 99) / 100 - 1);
    std::nth_element(ms_.begin(), rank, ms_.end());
    report.p95_wait_ms = *rank;
  }

 private:
  std::vector<std::uint64_t> ms_;
};

}  // namespace canopy::replay
