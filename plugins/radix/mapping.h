#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace canopy::radix {

inline void prefetch(const void* at) { __builtin_prefetch(at); }

/// Memory straight from the system that grows without being copied and without slack: growth moves page
/// tables, not bytes, and what was never touched is not resident. The base may move when it grows, so callers
/// keep offsets.
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
  /// At least `bytes` are addressable, those beyond the former size are zero. False if the system refuses.
  bool reserve(std::size_t bytes) { return bytes <= touched_ || grow(bytes); }
  /// Gives the whole system pages inside [from, to) back; they read as zero from now on. How many bytes went.
  std::size_t drop(std::size_t from, std::size_t to);
  /// Gives back what lies beyond the first `bytes`, which the owner does not use.
  void keep(std::size_t bytes);
  /// Bytes that are in memory now, as the system counts them.
  std::size_t resident() const;

 private:
  bool grow(std::size_t bytes);
  bool map(std::size_t bytes);

  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;   ///< addressable
  std::size_t touched_ = 0;  ///< faulted in ahead of use: a fault per page would double the cost of an insert
};

/// A vector of trivial values in a Mapping. Elements beyond size() that were never used are zero.
template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* data() { return reinterpret_cast<T*>(memory_.base()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.base()); }
  std::size_t size() const { return size_; }
  bool reserve(std::size_t size) { return memory_.reserve(size * sizeof(T)); }
  /// False, and nothing has changed, if the system has no memory.
  bool resize(std::size_t size) {
    if (!reserve(size)) return false;
    size_ = size;
    return true;
  }
  /// REQUIRES: there is memory (reserve), or the loss of the process is acceptable.
  void push_back(const T& value) {
    const T copy = value;
    if (!reserve(size_ + 1)) out_of_memory();
    data()[size_++] = copy;
  }
  void append(const T* values, std::size_t count) {
    if (count == 0) return;
    if (!reserve(size_ + count)) out_of_memory();
    std::memcpy(data() + size_, values, count * sizeof(T));
    size_ += count;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void clear_to_zero() { *this = Column(); }
  /// clear, and memory for at most `size` elements stays.
  void clear_but_keep(std::size_t size) {
    size_ = 0;
    memory_.keep(size * sizeof(T));
  }
  std::size_t resident() const { return memory_.resident(); }

 private:
  [[noreturn]] static void out_of_memory();

  Mapping memory_;
  std::size_t size_ = 0;
};

[[noreturn]] void stop_without_memory();

template <class T>
void Column<T>::out_of_memory() {
  stop_without_memory();
}

}  // namespace canopy::radix
