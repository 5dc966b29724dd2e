#include "mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace canopy::radix {
namespace {

const std::size_t kSystemPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t kLeastAhead = std::size_t{16} << 10;
constexpr std::size_t kMostAhead = std::size_t{2} << 20;

std::size_t up(std::size_t bytes) { return (bytes + kSystemPage - 1) / kSystemPage * kSystemPage; }

}  // namespace

Mapping::~Mapping() {
  if (base_) munmap(base_, mapped_);
}

bool Mapping::grow(std::size_t bytes) {
  if (bytes > mapped_) {
    const std::size_t wanted = up(std::max(bytes, mapped_ * 2));
    void* moved =
        base_ ? mremap(base_, mapped_, wanted, MREMAP_MAYMOVE)
              : mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (moved == MAP_FAILED) return false;
    base_ = static_cast<std::byte*>(moved);
    mapped_ = wanted;
  }
  const std::size_t ahead = std::clamp(touched_ / 32, kLeastAhead, kMostAhead);
  const std::size_t end = std::min(mapped_, up(bytes + ahead));
#ifdef MADV_POPULATE_WRITE
  // An old kernel refuses, and then each page is faulted in when it is first written: slower, not wrong.
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

void stop_without_memory() {
  std::fputs("canopy radix index: the system has no memory left for its tables\n", stderr);
  std::abort();
}

}  // namespace canopy::radix
