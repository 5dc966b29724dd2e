#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace canopy {

/// Circuit breaker: stops calling a storage that keeps failing. Time is that of Engine::turn.
///
///   closed     all calls are made. Opens after five failures in a row, or in half of the last 32 calls
///   open       no calls are made for a while: 100 ms, doubled each time, up to 1.5 s
///   half open  one read or put at a time is made. Three successes close it, and one failure opens it again
///
/// Damaged records are counted separately: three within a thousand checked ones open it for `trust_again`.
class Breaker {
 public:
  enum class State : std::uint8_t { closed, half_open, open };

  /// `trust_again`: microseconds for which damaged records open it.
  explicit Breaker(std::uint64_t trust_again) : trust_again_(trust_again) {}

  /// Returns true if a call may be made now. Report the end of each call with served() or failed().
  bool may_call(std::uint64_t now) const {
    return state(now) == State::closed || (state(now) == State::half_open && on_way_ == 0);
  }
  State state(std::uint64_t now) const {
    if (!open_) return State::closed;
    return now >= until_ && until_ != kForEver ? State::half_open : State::open;
  }
  /// Returns the time at which an open breaker becomes half open; kUnlimited: never.
  std::uint64_t until() const { return until_; }
  /// Returns the number of times that it opened.
  std::uint64_t opened() const { return opened_; }

  void called() { ++on_way_; }
  void served(std::uint64_t now) {
    ended(false);
    if (state(now) != State::half_open || ++good_ < kGood) return;
    open_ = false;
    wait_ = kFirstWait;
    recent_ = 0;
  }
  void failed(std::uint64_t now) {
    ended(true);
    const State was = state(now);
    const bool many = in_a_row_ >= kInARow || __builtin_popcount(recent_) >= kOfRecent;
    if (was == State::half_open || (was == State::closed && many)) open(now, wait_);
  }
  /// Reports that `damaged` of `records` checked records were damaged.
  void checked(std::uint64_t now, std::uint32_t records, std::uint32_t damaged) {
    for (; damaged > 0; --damaged) {
      std::rotate(damaged_at_.begin(), damaged_at_.begin() + 1, damaged_at_.end());
      damaged_at_.back() = checked_ + 1;
      if (damaged_at_.front() > 0 && checked_ + 1 - damaged_at_.front() < kWithin) {
        damaged_at_ = {};
        open(now, trust_again_);
      }
    }
    checked_ += records;
  }
  void open_for_ever() { open(0, kForEver); }

 private:
  static constexpr std::uint32_t kInARow = 5, kGood = 3;
  static constexpr int kOfRecent = 16;
  static constexpr std::uint64_t kFirstWait = 100'000, kLongestWait = 1'500'000, kWithin = 1000;
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};

  void ended(bool badly) {
    on_way_ -= on_way_ > 0;
    in_a_row_ = badly ? in_a_row_ + 1 : 0;
    recent_ = recent_ << 1 | static_cast<std::uint32_t>(badly);
  }
  void open(std::uint64_t now, std::uint64_t how_long) {
    // A longer opening remains in force.
    const std::uint64_t until = how_long == kForEver || how_long > kForEver - now ? kForEver : now + how_long;
    until_ = open_ ? std::max(until_, until) : until;
    opened_ += !open_;
    open_ = true;
    good_ = 0;
    wait_ = std::min(wait_ * 2, kLongestWait);
  }

  std::uint64_t trust_again_;
  bool open_ = false;
  std::uint64_t until_ = 0, wait_ = kFirstWait, opened_ = 0;
  std::uint32_t on_way_ = 0, in_a_row_ = 0, good_ = 0;
  std::uint32_t recent_ = 0;  ///< one bit for each of the last 32 calls; set: it failed
  std::uint64_t checked_ = 0;
  std::array<std::uint64_t, 3> damaged_at_{};  ///< checked records at the last three damaged ones; 0: fewer
};

}  // namespace canopy
