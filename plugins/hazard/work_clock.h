#pragma once

#include <canopy/eviction_strategy.h>

#include <algorithm>
#include <cstdint>

#include "age_bins.h"

namespace canopy::hazard {

/// A clock that measures time in ages, thousandths of a turnover of the pool (age_bins.h). It never goes back, and a
/// change of the pool's limit does not change the time that has passed.
class WorkClock {
 public:
  double now() const { return now_; }
  void follow(const PolicyClock& clock) {
    if (clock.allocated == allocated_ && clock.capacity == capacity_) return;
    if (clock.capacity == kUnlimited || clock.capacity == 0) return;
    allocated_ = clock.allocated;
    if (clock.capacity != capacity_ || clock.allocated < since_) {
      base_ = now_, since_ = clock.allocated, capacity_ = clock.capacity;
      return;
    }
    const double more = kAgesPerTurnover * static_cast<double>(clock.allocated - since_);
    now_ = std::max(now_, base_ + more / static_cast<double>(capacity_));
  }

 private:
  double now_ = 0, base_ = 0;
  std::uint64_t since_ = 0, allocated_ = 0, capacity_ = 0;
};

/// A node's word: the last use of its path and the class of that use. 0 if no request on it has ended.
class NodeTag {
 public:
  static std::uint64_t of(double now, std::size_t of_class) {
    return (static_cast<std::uint64_t>(now * kSteps) + 1) << kClassBits | of_class;
  }
  explicit NodeTag(std::uint64_t tag) : tag_(tag) {}
  double last_use() const { return static_cast<double>(steps() - 1) / kSteps; }
  double age(double now) const { return std::max(0.0, now - last_use()); }
  std::size_t of_class() const { return tag_ & ((1U << kClassBits) - 1); }

 private:
  std::int64_t steps() const { return static_cast<std::int64_t>(tag_ >> kClassBits); }
  static constexpr double kSteps = 1024;
  static constexpr int kClassBits = 12;
  std::uint64_t tag_;
};

}  // namespace canopy::hazard
