#pragma once

#include <cstddef>
#include <utility>

namespace canopy::radix {

/// Memory mapped from the system that grows without copying: growth changes page tables, and memory that was never
/// touched is not resident. The base may change when it grows, so callers keep offsets.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        mapped_(std::exchange(other.mapped_, 0)),
        touched_(std::exchange(other.touched_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_), std::swap(mapped_, other.mapped_), std::swap(touched_, other.touched_);
    return *this;
  }

  std::byte* base() const { return base_; }
  /// Makes at least `bytes` bytes addressable; those beyond the former size are zero. Returns false if the system
  /// refuses.
  bool reserve(std::size_t bytes) { return bytes <= touched_ || grow(bytes); }
  /// Ensures that reserve() of up to `bytes` bytes cannot fail. Takes addresses, not memory.
  bool promise(std::size_t bytes) { return bytes <= mapped_ || map_ahead(bytes); }
  /// Gives the whole system pages inside [from, to) back to the system; they read as zero from then on. Returns their
  /// bytes.
  std::size_t drop(std::size_t from, std::size_t to);
  /// Gives all memory beyond the first `bytes` bytes back to the system. REQUIRES: the owner does not use it.
  void keep(std::size_t bytes);
  /// Returns the bytes that are in memory now, as the system counts them.
  std::size_t resident() const;

 private:
  bool grow(std::size_t bytes);
  bool map_ahead(std::size_t bytes);
  bool map(std::size_t bytes);

  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;   ///< addressable bytes
  std::size_t touched_ = 0;  ///< bytes faulted in ahead of use: a fault per page would double the cost of an insert
};

}  // namespace canopy::radix
