#pragma once

#include <cstdint>

namespace canopy {

/// Returns a good 64-bit hash of `x`, the same on every machine: SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A seeded sequence of numbers and decisions, computed in integers only. The distributions of <random> differ between
/// C++ libraries, and a seed must give the same sequence everywhere. Digests of workloads, random programs and fuzz
/// runs depend on every number, so the results of these functions never change.
class Random {
 public:
  /// Starts the sequence of the seed after its first `skipped` numbers.
  explicit constexpr Random(std::uint64_t seed, std::uint64_t skipped = 0) : state_(seed + skipped * kStep) {}

  constexpr std::uint64_t next() {
    const std::uint64_t number = splitmix64(state_);
    state_ += kStep;
    return number;
  }
  /// Returns a number from 0 to n - 1, by multiplication. REQUIRES: n > 0.
  constexpr std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((next() >> 32) * n >> 32); }
  /// Returns true with probability 1 / n. REQUIRES: n > 0.
  constexpr bool one_in(std::uint32_t n) { return below(n) == 0; }
  /// Returns a number from 0 to n - 1, by division, for n of any size. It differs from that of below(n). Its bias,
  /// n / 2^64, is negligible for the sizes used here. REQUIRES: n > 0.
  constexpr std::uint64_t remainder(std::uint64_t n) { return next() % n; }
  /// Returns a number from half of `mean` to one and a half times `mean`, by remainder().
  constexpr std::uint64_t around(std::uint64_t mean) { return mean / 2 + remainder(mean + 1); }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  std::uint64_t state_;
};

/// Returns the largest result of Random::around(mean).
constexpr std::uint64_t most_around(std::uint64_t mean) { return mean / 2 + mean; }

}  // namespace canopy
