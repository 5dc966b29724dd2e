#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace canopy::routing {

/// Memory in huge pages, where the system gives them and the size is worth it: a look-up in a table of many megabytes
/// costs as much to translate its address as to read it.
template <class T>
struct HugeAllocator {
  using value_type = T;
  HugeAllocator() = default;
  template <class Other>
  HugeAllocator(const HugeAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    constexpr std::size_t kHuge = std::size_t{1} << 21;
    const std::size_t bytes = count * sizeof(T), align = bytes < kHuge ? 64 : kHuge;
    void* memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (!memory) throw std::bad_alloc();
    if (align == kHuge) ::madvise(memory, bytes, MADV_HUGEPAGE);  // without them it is slower, no more
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  friend bool operator==(const HugeAllocator&, const HugeAllocator&) { return true; }
};

}  // namespace canopy::routing
