#pragma once

#include <cstdint>

namespace canopy::workload {

/// Steele's finaliser over a Weyl step: a good 64-bit hash of `x`, the same everywhere.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The seed of item number `n` under another seed.
constexpr std::uint64_t derive(std::uint64_t seed, std::uint64_t what, std::uint64_t number = 0) {
  return splitmix64(splitmix64(splitmix64(seed) + what) + number);
}

/// Seeded decisions in integers. The standard's distributions differ between libraries, so a workload made with them
/// would differ between machines.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() { return splitmix64(state_ += 0x9E3779B97F4A7C15u); }
  /// 0..n-1. The bias of the remainder, n / 2^64, cannot be seen at the sizes used here. REQUIRES: n > 0.
  constexpr std::uint64_t below(std::uint64_t n) { return next() % n; }
  /// From half of `mean` to one and a half of it: a length that varies.
  constexpr std::uint64_t around(std::uint64_t mean) { return mean / 2 + below(mean + 1); }

 private:
  std::uint64_t state_;
};

/// The most that `Random::around` gives.
constexpr std::uint64_t most_around(std::uint64_t mean) { return mean / 2 + mean; }

}  // namespace canopy::workload
