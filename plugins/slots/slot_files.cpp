#include "slot_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "folder.h"

namespace canopy::slots {

namespace {

// A disk without room for all slots must have room for the table and the small files beside them.
constexpr std::uint64_t kTableEntry = 64, kOtherFiles = std::uint64_t{32} << 10;

/// Allocates disk space for `bytes` bytes. Returns the number of bytes that the file has room for.
std::uint64_t take_room(int file, std::uint64_t bytes, std::uint64_t step) {
  const auto fits = [&](std::uint64_t size) {
    errno = allocate(file, size);
    // A file system that cannot reserve space: the file gets its size, and a put may find the disk full.
    if (errno == EOPNOTSUPP || errno == ENOSYS) return ::ftruncate(file, static_cast<off_t>(size)) == 0;
    return errno == 0;
  };
  if (fits(bytes)) return bytes;
  std::uint64_t fitting = 0, too_many = bytes / step;
  while (fitting + 1 < too_many) {
    const std::uint64_t middle = fitting + (too_many - fitting) / 2;
    (fits(middle * step) ? fitting : too_many) = middle;
  }
  return fitting * step;
}

}  // namespace

SlotFiles::SlotFiles(const std::string& path, Shape shape, bool direct) : shape_(shape), direct_(direct) {
  const Slot wanted = shape.slots;
  Slot first = 0;
  while (first < shape_.slots) {
    const std::string name = path + "/slots." + std::to_string(files_.size());
    OwnFd file = open_one(name);
    struct ::stat facts{};
    if (::fstat(file.get(), &facts) != 0) fail(name, "cannot be examined", errno);
    had_bytes_ |= facts.st_size > 0;
    const Slot here = std::min(shape.slots_a_file(), wanted - first);
    const std::uint64_t bytes = here * shape.record_bytes;
    if (static_cast<std::uint64_t>(facts.st_size) > bytes && ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
      fail(name, "cannot be shortened", errno);
    errno = 0;
    auto fitting = static_cast<Slot>(take_room(file.get(), bytes, shape.record_bytes) / shape.record_bytes);
    const int error = errno;
    if (fitting < here && (error == ENOSPC || error == EDQUOT)) {
      const std::uint64_t beside = kOtherFiles + (std::uint64_t{first} + fitting) * kTableEntry;
      fitting -= static_cast<Slot>(std::min<std::uint64_t>(fitting, beside / shape.record_bytes + 1));
      if (::ftruncate(file.get(), static_cast<off_t>(fitting * shape.record_bytes)) != 0)
        fail(name, "cannot be shortened", errno);
    }
    first += fitting;
    if (fitting < here) {
      if (first == 0 && !had_bytes_) ::unlink(name.c_str());
      if (first == 0) fail(name, "has no room for a record of " + std::to_string(shape.record_bytes) + " bytes", error);
      shape_.slots = first;
      std::fprintf(stderr, "canopy: slots: %s has room for %u of %u records\n", path.c_str(), first, wanted);
    }
    if (fitting > 0) files_.push_back(std::move(file));
  }
  remove_from(path, static_cast<Slot>(files_.size()));
}

OwnFd SlotFiles::open_one(const std::string& path) {
  if (direct_) {
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_DIRECT;
    OwnFd file([&] { return UniqueFd(::open(path.c_str(), kFlags, 0600)); });
    if (file) return file;
    if (errno != EINVAL) fail(path, "cannot be opened", errno);
    direct_ = false;
    std::fprintf(stderr, "canopy: slots: %s: the file system refuses O_DIRECT; records go through the page cache\n",
                 path.c_str());
  }
  return OwnFd([&] { return open_file(path, O_RDWR | O_CREAT); });
}

bool SlotFiles::wipe(Slot first, Slot count) const {
  while (count > 0) {
    const Slot here = std::min(count, shape_.slots_a_file() - first % shape_.slots_a_file());
    while (::fallocate(descriptor_of(first), FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(shape_.offset_of(first)),
                       static_cast<off_t>(here * shape_.record_bytes)) != 0)
      if (errno != EINTR) return false;
    first += here, count -= here;
  }
  return true;
}

bool SlotFiles::sync() const {
  return std::all_of(files_.begin(), files_.end(), [](const OwnFd& file) { return ::fdatasync(file.get()) == 0; });
}

void SlotFiles::remove_from(const std::string& path, Slot first) {
  while (::unlink((path + "/slots." + std::to_string(first)).c_str()) == 0) ++first;
}

}  // namespace canopy::slots
