#pragma once

#include <canopy/eviction_strategy.h>

#include <algorithm>
#include <cstdint>

#include "age_bins.h"

namespace canopy::hazard {

/// A time that goes by the pool's turnover (age_bins.h). It never goes back, and another limit of the pool does not
/// bend what has passed.
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

/// A node's word: when its path was last used, and in which class. 0 is a node of which no request has ended.
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
