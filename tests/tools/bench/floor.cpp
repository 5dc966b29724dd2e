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

namespace canopy::bench {
FloorMemory::FloorMemory(std::size_t words, bool huge_pages) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  bytes_ = (words * sizeof(*words_) + kHuge) / kHuge * kHuge;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Only advice: some systems have no such pages.
  if (huge_pages) static_cast<void>(madvise(memory, bytes_, MADV_HUGEPAGE));
  std::memset(memory, 0xCA, bytes_);
  words_ = static_cast<std::uint32_t*>(memory);
}

FloorMemory::~FloorMemory() { munmap(words_, bytes_); }

bool FloorMemory::compare(std::size_t at, const std::uint32_t* words, std::size_t count) const {
  return std::memcmp(words_ + at, words, count * sizeof(*words)) == 0;
}

void FloorMemory::copy(std::size_t at, const std::uint32_t* words, std::size_t count) {
  std::memcpy(words_ + at, words, count * sizeof(*words));
}

double pointer_chase_latency(std::size_t count) {
  constexpr std::size_t kApart = 128 / sizeof(std::uint32_t);
  FloorMemory memory(count * kApart, true);  // in huge pages, as a large index has them
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
