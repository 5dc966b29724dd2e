#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace canopy::metrics {

/// Upper bounds of vLLM's kv_block histograms (0.33, v1/metrics/loggers.py), in seconds.
inline constexpr double kSecondBounds[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,  1,   2,
                                           5,     10,    20,    30,   60,   120,  300, 600, 1200, 1800};
/// Upper bounds of SGLang's prompt histograms (0.5.23, srt/observability/metrics_collector.py), in tokens.
inline constexpr double kPromptBounds[] = {100,   300,   500,   700,   1000,  1500,  2000,  3000,  4000,
                                           5000,  6000,  7000,  8000,  9000,  10000, 12500, 15000, 17500,
                                           20000, 22500, 25000, 27500, 30000, 35000, 40000, 60000, 80000,
                                           1e5,   2e5,   3e5,   4e5,   6e5,   8e5,   1e6,   1.1e6};
/// Bounds of prompt tokens between two uses, up to more than any pool holds.
inline constexpr double kWorkBounds[] = {1e3, 1e4, 3e4, 1e5, 3e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9};

/// Number of values at or below each bound. Counts only grow.
class Histogram {
 public:
  /// REQUIRES: `bounds` are ascending and outlive the histogram.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(double value, std::uint64_t times = 1) {
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<std::size_t>(at)] += times;
    count_ += times;
    sum_ += value * static_cast<double>(times);
  }

  std::span<const double> bounds() const { return bounds_; }
  /// Returns the number of values above bound i - 1 and at most bound i; the last element: above all bounds.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace canopy::metrics
