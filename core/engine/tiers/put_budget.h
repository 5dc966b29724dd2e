#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <cstdint>

namespace canopy {

/// Bytes that may be put now, at a rate of so many a second, in the time of Engine::turn. What is not used in a second
/// is lost.
class PutBudget {
 public:
  /// 0: any number.
  explicit PutBudget(std::uint64_t bytes_a_second) : rate_(bytes_a_second), left_(bytes_a_second) {}

  void turn(std::uint64_t now_us) {
    constexpr std::uint64_t kSecond = 1'000'000;
    const std::uint64_t passed = std::min(now_us - last_us_, kSecond);
    last_us_ = now_us;
    // At most a terabyte a second for a second: this does not wrap.
    const std::uint64_t earned = passed * rate_ + rest_;
    rest_ = earned % kSecond;
    left_ = std::min(left_ + earned / kSecond, rate_);
  }
  std::uint64_t left() const { return rate_ == 0 ? kUnlimited : left_; }
  void spend(std::uint64_t bytes) { left_ -= std::min(left_, bytes); }

 private:
  std::uint64_t rate_, left_, last_us_ = 0, rest_ = 0;
};

}  // namespace canopy
