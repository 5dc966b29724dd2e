#pragma once

/// Replaces the program's operator new by one that refuses allocations when a test says so: plugins and libraries take
/// their memory from it as well. A program, or a library that is preloaded, includes this in one file. What takes
/// memory from the system itself (malloc, mmap) is not refused.

#include <atomic>
#include <cstdlib>
#include <new>

namespace canopy::test {

class RefusedMemory {
 public:
  /// Refuses `count` allocations of this thread in a row, after `first` more have succeeded.
  static void refuse(long first, long count) { left_ = first, count_ = count, made_ = refused_ = 0; }
  /// Counts allocations, and refuses none.
  static void count() { refuse(0, 0); }
  /// Refuses nothing from now on. Returns the number of allocations that were refused.
  static long stop() { return count_ = 0, refused_; }
  /// Returns the allocations since refuse() or count(), without those that were refused.
  static long made() { return made_; }

  /// Refuses one allocation of the other threads of the program, after `first` more of theirs have succeeded.
  static void refuse_others(long first) { is_other_ = false, others_left_ = first; }
  /// Refuses nothing of theirs from now on. Returns true if one was refused.
  static bool stop_others() { return is_other_ = true, others_left_.exchange(-1) < 0; }

  static void* allocate(std::size_t bytes, std::size_t alignment = 0) {
    if (count_ > 0 && left_-- <= 0) return --count_, ++refused_, nullptr;
    if (is_other_ && others_left_.load(std::memory_order_relaxed) >= 0 && others_left_.fetch_sub(1) == 0)
      return nullptr;
    ++made_;
    if (bytes == 0) bytes = 1;
    return alignment == 0 ? std::malloc(bytes)
                          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void* allocate_or_throw(std::size_t bytes, std::size_t alignment = 0) {
    if (void* const memory = allocate(bytes, alignment)) return memory;
    throw std::bad_alloc();
  }

 private:
  static inline thread_local long left_ = 0, count_ = 0, made_ = 0, refused_ = 0;
  static inline thread_local bool is_other_ = true;
  static inline std::atomic<long> others_left_ = -1;
};

}  // namespace canopy::test

// Not inlined: compilers would take the pairs apart, and warn of a free() of what an operator has made.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return canopy::test::RefusedMemory::allocate_or_throw(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return canopy::test::RefusedMemory::allocate(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return canopy::test::RefusedMemory::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
