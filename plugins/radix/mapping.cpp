#include "mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

namespace canopy::radix {
namespace {

// ThreadSanitizer does not see mremap: memory that another thread later maps at the old address would look shared.
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr bool kMovesPages = false;
#else
constexpr bool kMovesPages = true;
#endif

const std::size_t kSystemPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t kLeastAhead = std::size_t{16} << 10;
constexpr std::size_t kMostAhead = std::size_t{2} << 20;

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// A mapping of this size or more has 2 MiB pages: at least half of it is in use, so rounding up wastes little.
constexpr std::size_t kLarge = std::size_t{16} << 20;

std::size_t up(std::size_t bytes, std::size_t to = kSystemPage) { return (bytes + to - 1) / to * to; }

/// Returns an address at which `bytes` fit and 2 MiB pages can begin; null if the system refuses.
std::byte* aligned_place(std::size_t bytes) {
  void* found = mmap(nullptr, bytes + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(found);
  const std::size_t before =
      up(reinterpret_cast<std::uintptr_t>(first), kHugePage) - reinterpret_cast<std::uintptr_t>(first);
  if (before) munmap(first, before);
  munmap(first + before + bytes, kHugePage - before);
  return first + before;
}

}  // namespace

Mapping::~Mapping() {
  if (base_) munmap(base_, mapped_);
}

/// Makes `bytes` addressable and keeps the contents.
bool Mapping::map(std::size_t bytes) {
  const bool huge = bytes >= kLarge;
  std::byte* const place = huge ? aligned_place(bytes) : nullptr;
  if (huge && !place) return false;
  void* moved;
  if (base_ && kMovesPages) {
    moved = mremap(base_, mapped_, bytes, MREMAP_MAYMOVE | (huge ? MREMAP_FIXED : 0), place);
  } else {
    moved = mmap(place, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (huge ? MAP_FIXED : 0), -1, 0);
  }
  // On failure the place stays reserved: it may have been unmapped already, and another thread may have mapped there.
  if (moved == MAP_FAILED) return false;
  if (base_ && !kMovesPages) {
    std::memcpy(moved, base_, std::min(mapped_, bytes));
    munmap(base_, mapped_);
  }
  // This is only advice: without such pages the index is slower, not wrong.
  if (huge) static_cast<void>(madvise(moved, bytes, MADV_HUGEPAGE));
  base_ = static_cast<std::byte*>(moved);
  mapped_ = bytes;
  return true;
}

bool Mapping::map_ahead(std::size_t bytes) {
  return map(up(std::max(bytes, mapped_ * 2), bytes >= kLarge / 2 ? kHugePage : kSystemPage));
}

bool Mapping::grow(std::size_t bytes) {
  if (!promise(bytes)) return false;
  const std::size_t ahead = std::clamp(touched_ / 32, kLeastAhead, kMostAhead);
  const std::size_t end = std::min(mapped_, up(bytes + ahead, mapped_ >= kLarge ? kHugePage : kSystemPage));
#ifdef MADV_POPULATE_WRITE
  // A kernel before 5.14 refuses. Then the first write to each page faults it in: slower, not wrong.
  static_cast<void>(madvise(base_ + touched_, end - touched_, MADV_POPULATE_WRITE));
#endif
  touched_ = end;
  return true;
}

std::size_t Mapping::drop(std::size_t from, std::size_t to) {
  from = up(from);
  to = to / kSystemPage * kSystemPage;
  if (from >= to || madvise(base_ + from, to - from, MADV_DONTNEED) != 0) return 0;
  return to - from;
}

void Mapping::keep(std::size_t bytes) {
  if (up(bytes) >= touched_) return;
  drop(bytes, touched_);
  touched_ = up(bytes);
}

std::size_t Mapping::resident() const {
  constexpr std::size_t kAtATime = 1 << 16;
  std::vector<unsigned char> present(kAtATime);
  std::size_t pages = 0;
  for (std::size_t at = 0; at < mapped_; at += kAtATime * kSystemPage) {
    const std::size_t length = std::min(kAtATime * kSystemPage, mapped_ - at);
    if (mincore(base_ + at, length, present.data()) != 0) return mapped_;
    for (std::size_t i = 0; i < (length + kSystemPage - 1) / kSystemPage; ++i) pages += present[i] & 1U;
  }
  return pages * kSystemPage;
}

}  // namespace canopy::radix
