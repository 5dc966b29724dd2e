/// The memory of a program that can refuse it to an engine. Linked into canopy-dev, and into the tests of the check.
#include <check/scarcity.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <new>

using canopy::check::Scarcity;

// Not inlined: compilers would take the pairs apart, and warn of a free() of what an operator has made.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return Scarcity::refuses() ? nullptr : std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// The linker gives the engine's own calls to these (--wrap).
extern "C" {
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset);

void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  return Scarcity::refuses() ? nullptr : __real_calloc(count, bytes);
}
void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (!Scarcity::refuses()) return __real_mmap(at, bytes, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
}
