#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "mapping.h"

namespace canopy::radix {

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
  /// Ensures that growing to `size` elements cannot fail. Returns false if the system has no addresses left.
  bool promise(std::size_t size) { return memory_.promise(size * sizeof(T)); }
  /// Returns false, and nothing has changed, if the system has no memory.
  bool resize(std::size_t size) {
    if (!reserve(size)) return false;
    size_ = size;
    return true;
  }
  /// Throws std::bad_alloc if the system has no memory. An operation must not fail once it has changed something, so it
  /// calls promise() first.
  void push_back(const T& value) {
    const T copy = value;
    if (!reserve(size_ + 1)) throw std::bad_alloc();
    data()[size_++] = copy;
  }
  void append(const T* values, std::size_t count) {
    if (count == 0) return;
    if (!reserve(size_ + count)) throw std::bad_alloc();
    std::memcpy(data() + size_, values, count * sizeof(T));
    size_ += count;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void clear_to_zero() { *this = Column(); }
  /// Empties the column, and returns the memory beyond `size` elements to the system.
  void clear_but_keep(std::size_t size) {
    size_ = 0;
    memory_.keep(size * sizeof(T));
  }
  std::size_t resident() const { return memory_.resident(); }

 private:
  Mapping memory_;
  std::size_t size_ = 0;
};

}  // namespace canopy::radix
