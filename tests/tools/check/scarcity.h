#pragma once

#include <cstdint>

namespace canopy::check {

/// Refuses memory to an engine: to `operator new` in its calls, in its plugins too, and to calloc() and mmap() in those
/// of the engine itself. While nothing is armed, it costs an allocation a comparison.
class Scarcity {
 public:
  /// Refuses the `in`-th allocation from now on, from 1, and the next `times` - 1.
  void arm(std::uint64_t in, std::uint64_t times) { before_ = in, left_ = times; }
  void disarm() { left_ = 0; }
  bool armed() const { return left_ > 0; }
  std::uint64_t refused() const { return refused_; }  ///< allocations so far
  void note() { ++refused_; }                         ///< a component had no memory

  /// A call of an engine, in this thread: from its begin to its end allocations count. May be nested.
  class Call {
   public:
    explicit Call(Scarcity* scarcity);
    ~Call();
    Call(const Call&) = delete;

   private:
    Scarcity* before_;
  };
  /// A part of a call in which they do not, for components that belong to the check.
  class Pause : Call {
   public:
    Pause() : Call(nullptr) {}
  };

  /// Counts an allocation of this thread. Returns true if it is refused.
  static bool refuses();

 private:
  std::uint64_t before_ = 0, left_ = 0, refused_ = 0;
};

}  // namespace canopy::check
