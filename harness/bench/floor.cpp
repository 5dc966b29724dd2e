#include "floor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <stdexcept>
#include <vector>

#include "clock.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace canopy::bench {
namespace {

/// memcpy with stores that go around the caches, for words that are not read again soon.
void stream(std::uint32_t* to, const std::uint32_t* from, std::size_t count) {
#if defined(__SSE2__)
  constexpr std::size_t kVector = sizeof(__m128i) / sizeof(*to);
  while (count > 0 && reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) != 0) *to++ = *from++, --count;
  for (; count >= kVector; count -= kVector, to += kVector, from += kVector)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  _mm_sfence();
#endif
  std::memcpy(to, from, count * sizeof(*to));
}

}  // namespace

FloorMemory::FloorMemory(std::size_t words, FloorStyle style) : streaming_(style.streaming) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  bytes_ = (words * sizeof(*words_) + kHuge) / kHuge * kHuge;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Advice only: where the system has no such pages, the two styles are the same.
  if (style.huge_pages) static_cast<void>(madvise(memory, bytes_, MADV_HUGEPAGE));
  std::memset(memory, 0xCA, bytes_);
  words_ = static_cast<std::uint32_t*>(memory);
}

FloorMemory::~FloorMemory() { munmap(words_, bytes_); }

bool FloorMemory::compare(std::size_t at, const std::uint32_t* words, std::size_t count) const {
  return std::memcmp(words_ + at, words, count * sizeof(*words)) == 0;
}

void FloorMemory::copy(std::size_t at, const std::uint32_t* words, std::size_t count) {
  if (streaming_) stream(words_ + at, words, count);
  else std::memcpy(words_ + at, words, count * sizeof(*words));
}

double pointer_chase_latency(std::size_t count) {
  constexpr std::size_t kApart = 128 / sizeof(std::uint32_t);
  FloorMemory memory(count * kApart, {.huge_pages = true, .streaming = false});  // as a large index has them
  std::vector<std::uint32_t> places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = static_cast<std::uint32_t>(i * kApart);
  std::shuffle(places.begin(), places.end(), std::mt19937(7));
  for (std::size_t i = 0; i < count; ++i) memory.copy(places[i], &places[(i + 1) % count], 1);
  make_cold();
  std::size_t at = places[0];
  const double took = seconds_of([&] {
    for (std::size_t i = 0; i < count; ++i) at = memory[at];
  });
  if (at != places[0]) throw std::logic_error("a chain of places does not end where it began");
  return took / static_cast<double>(count);
}

void make_cold() {
  static std::vector<std::uint64_t> sweep = [] {
    constexpr long kUnknown = 64L << 20, kMost = 512L << 20;
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::vector<std::uint64_t>(static_cast<std::size_t>(std::min(cache > 0 ? cache : kUnknown, kMost)) / 8);
  }();
  constexpr std::size_t kLine = 8;
  for (std::size_t i = 0; i < sweep.size(); i += kLine) ++sweep[i];
}

}  // namespace canopy::bench
