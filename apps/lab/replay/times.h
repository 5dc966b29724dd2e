#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace canopy::replay {

/// Simulated times of requests, in milliseconds: mean and percentiles.
class Times {
 public:
  void add(std::uint64_t ms) { ms_.push_back(ms); }

  std::uint64_t count() const { return ms_.size(); }

  /// Returns nothing without times.
  std::optional<double> mean() const {
    if (ms_.empty()) return {};
    return static_cast<double>(std::accumulate(ms_.begin(), ms_.end(), std::uint64_t{0})) /
           static_cast<double>(ms_.size());
  }
  /// Returns the nearest rank: the smallest time that at least `percent` of 100 do not exceed; nothing without times.
  /// REQUIRES: 1 <= percent <= 100.
  std::optional<std::uint64_t> percentile(std::size_t percent) {
    if (ms_.empty()) return {};
    const auto rank = ms_.begin() + static_cast<std::ptrdiff_t>((ms_.size() * percent + 99) / 100 - 1);
    std::nth_element(ms_.begin(), rank, ms_.end());
    return *rank;
  }

 private:
  std::vector<std::uint64_t> ms_;
};

}  // namespace canopy::replay
