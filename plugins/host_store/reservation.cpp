#include "reservation.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

/// Takes the memory of each page, by a first write if there is no other way.
bool populate(std::byte* memory, std::uint64_t bytes, std::uint64_t page) {
#ifdef MADV_POPULATE_WRITE
  int failed;
  while ((failed = madvise(memory, bytes, MADV_POPULATE_WRITE)) != 0 && errno == EINTR) {
  }
  if (failed == 0) return true;
  if (errno != EINVAL) return false;  // EINVAL: a kernel before 5.14
#endif
  for (std::uint64_t at = 0; at < bytes; at += page) *const_cast<volatile std::byte*>(memory + at) = std::byte{};
  return true;
}

}  // namespace

Reservation::~Reservation() {
  if (base_) munmap(base_, bytes_);
  if (file_ >= 0) close(file_);
}

/// Makes the shared memory private, in a forked child: the parent's rows would change with the child's.
void Reservation::leave() noexcept {
  if (file_ < 0) return;
  const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  // Without a copy the child gets no access at all.
  if (mmap(base_, bytes_, PROT_READ | PROT_WRITE, flags, file_, 0) == MAP_FAILED) mprotect(base_, bytes_, PROT_NONE);
  close(file_);
  file_ = -1;
  options_.share = false;
}

std::uint64_t Reservation::granularity() const {
  return options_.huge_pages ? kHugePage : static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

bool Reservation::reserve(std::uint64_t bytes) {
  const std::uint64_t spare = granularity();  // so that the base can be rounded up
  if (bytes > ~std::uint64_t{0} / 2 - spare) return false;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (options_.share) {
    // Beyond the limit of the process for files, ftruncate would end it with SIGXFSZ.
    rlimit files{};
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && bytes > files.rlim_cur) return false;
    file_ = memfd_create("canopy rows", MFD_CLOEXEC);
    if (file_ < 0) return false;
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
      close(file_);
      file_ = -1;
      return false;
    }
    flags = MAP_SHARED | MAP_NORESERVE;
  }
  void* addresses = mmap(nullptr, bytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses != MAP_FAILED) {
    auto* const begin = static_cast<std::byte*>(addresses);
    const std::uint64_t before = -reinterpret_cast<std::uint64_t>(begin) & (spare - 1);
    if (before) munmap(begin, before);
    munmap(begin + before + bytes, spare - before);
    base_ = begin + before;
    bytes_ = bytes;
    if (!options_.share || mmap(base_, bytes, PROT_NONE, flags | MAP_FIXED, file_, 0) != MAP_FAILED) return true;
    munmap(base_, bytes_);
    base_ = nullptr;
  }
  if (file_ >= 0) close(file_);
  file_ = -1;
  return false;
}

bool Reservation::back(std::uint64_t offset, std::uint64_t bytes) {
  std::byte* const memory = base_ + offset;
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  if (options_.huge_pages) madvise(memory, bytes, MADV_HUGEPAGE);
  if ((!options_.populate || populate(memory, bytes, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)))) &&
      (!options_.lock || mlock(memory, bytes) == 0))
    return true;
  unback(offset, bytes);
  return false;
}

void Reservation::unback(std::uint64_t offset, std::uint64_t bytes) {
  std::byte* const memory = base_ + offset;
  if (options_.lock) munlock(memory, bytes);
  if (options_.share)
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  else madvise(memory, bytes, MADV_DONTNEED);
  mprotect(memory, bytes, PROT_NONE);
}

int Reservation::reader() const {
  if (file_ < 0) return -1;
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file_);
  return open(path, O_RDONLY | O_CLOEXEC);
}
