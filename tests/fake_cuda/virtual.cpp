#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "state.h"

namespace canopy::fake_cuda {
namespace {

bool supported(DeviceAttribute attribute) { return state().attributes[static_cast<int>(attribute)] != 0; }

bool whole(std::uint64_t value) { return value % kGranularity == 0; }

/// Device memory of device 0 is all there is.
Result judge(const MemAllocationProp& prop) {
  if (prop.type != MemAllocationType::pinned || prop.location.type != MemLocationType::device)
    return Result::invalid_value;
  if (prop.location.id != 0) return Result::invalid_device;
  const int types = static_cast<int>(prop.requested_handle_types);
  if (types & ~9) return Result::invalid_value;
  if ((types & 8 && !supported(DeviceAttribute::handle_type_fabric_supported)) ||
      (types & 1 && !supported(DeviceAttribute::handle_type_posix_file_descriptor_supported)))
    return Result::not_supported;
  if (prop.flags.gpu_direct_rdma_capable && !supported(DeviceAttribute::gpu_direct_rdma_with_cuda_vmm_supported))
    return Result::not_supported;
  return Result::success;
}

bool reserved(DevicePtr at, std::size_t bytes) {
  const auto after = state().reservations.upper_bound(at);
  if (after == state().reservations.begin()) return false;
  const auto [base, size] = *std::prev(after);
  return at - base < size && bytes <= size - (at - base);
}

bool mapped_anywhere(DevicePtr at, std::size_t bytes) {
  const auto& mappings = state().mappings;
  const auto after = mappings.lower_bound(at);
  if (after != mappings.end() && after->first - at < bytes) return true;
  return after != mappings.begin() && at - std::prev(after)->first < std::prev(after)->second.bytes;
}

bool poison(int fd, std::size_t bytes) {
  std::array<unsigned char, 65536> piece;
  piece.fill(kPoison);
  for (std::size_t done = 0; done < std::min(bytes, kPoisoned); done += piece.size())
    if (pwrite(fd, piece.data(), piece.size(), static_cast<off_t>(done)) != static_cast<ssize_t>(piece.size()))
      return false;
  return true;
}

constexpr unsigned kNeeds = kContext | kNotInCapture;

}  // namespace
}  // namespace canopy::fake_cuda

namespace canopy::cuda {

using namespace canopy::fake_cuda;

#define FAKE_ENTER_VIRTUAL() \
  FAKE_ENTER(kNeeds);        \
  if (!supported(DeviceAttribute::virtual_memory_management_supported)) return Result::not_supported

extern "C" {

Result cuMemGetAllocationGranularity(std::size_t* out, const MemAllocationProp* prop, MemGranularity) {
  FAKE_ENTER(kInit);
  if (!out || !prop) return Result::invalid_value;
  if (!supported(DeviceAttribute::virtual_memory_management_supported)) return Result::not_supported;
  if (const Result result = judge(*prop); result != Result::success) return result;
  *out = kGranularity;
  return Result::success;
}

Result cuMemAddressReserve(DevicePtr* out, std::size_t bytes, std::size_t alignment, DevicePtr wish,
                           std::uint64_t flags) {
  FAKE_ENTER_VIRTUAL();
  if (!out || bytes == 0 || !whole(bytes) || alignment & (alignment - 1) || flags != 0) return Result::invalid_value;
  const std::size_t align = std::max(alignment, kGranularity);
  if (bytes > SIZE_MAX - align) return Result::out_of_memory;
  void* const at = mmap(pointer(wish), bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return Result::out_of_memory;
  const auto first = reinterpret_cast<DevicePtr>(at);
  const DevicePtr base = (first + align - 1) / align * align;
  if (base != first) munmap(at, base - first);
  if (const std::size_t rest = first + align - base; rest != 0) munmap(pointer(base + bytes), rest);
  state().reservations[base] = bytes;
  *out = base;
  return Result::success;
}

Result cuMemAddressFree(DevicePtr at, std::size_t bytes) {
  FAKE_ENTER_VIRTUAL();
  const auto found = state().reservations.find(at);
  if (found == state().reservations.end() || found->second != bytes || mapped_anywhere(at, bytes))
    return Result::invalid_value;
  munmap(pointer(at), bytes);
  state().reservations.erase(found);
  return Result::success;
}

Result cuMemCreate(MemHandle* out, std::size_t bytes, const MemAllocationProp* prop, std::uint64_t flags) {
  FAKE_ENTER_VIRTUAL();
  if (!out || !prop || bytes == 0 || !whole(bytes) || flags != 0) return Result::invalid_value;
  if (const Result result = judge(*prop); result != Result::success) return result;
  if (!take(bytes)) return Result::out_of_memory;
  const int fd = memfd_create("fake_cuda", MFD_CLOEXEC);
  if (fd < 0) {
    state().taken -= bytes;
    return Result::operating_system;
  }
  const bool exportable = (static_cast<int>(prop->requested_handle_types) & 1) != 0;
  const auto memory = std::make_shared<Memory>(fd, bytes, exportable);
  memory->taken = bytes;
  struct stat status = {};
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 || !poison(fd, bytes) || fstat(fd, &status) != 0)
    return Result::out_of_memory;
  memory->inode = status.st_ino;
  state().inodes[memory->inode] = memory;
  *out = state().next++ << 8;
  state().handles[*out] = memory;
  return Result::success;
}

Result cuMemRelease(MemHandle handle) {
  FAKE_ENTER_VIRTUAL();
  return state().handles.erase(handle) == 1 ? Result::success : Result::invalid_value;
}

Result cuMemMap(DevicePtr at, std::size_t bytes, std::size_t offset, MemHandle handle, std::uint64_t flags) {
  FAKE_ENTER_VIRTUAL();
  const auto found = state().handles.find(handle);
  if (found == state().handles.end() || offset != 0 || flags != 0 || bytes != found->second->bytes || !whole(at) ||
      !reserved(at, bytes) || mapped_anywhere(at, bytes))
    return Result::invalid_value;
  if (mmap(pointer(at), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, found->second->fd, 0) == MAP_FAILED)
    return Result::map_failed;
  state().mappings[at] = {bytes, found->second, MemAccess::none};
  return Result::success;
}

Result cuMemUnmap(DevicePtr at, std::size_t bytes) {
  FAKE_ENTER_VIRTUAL();
  const auto found = state().mappings.find(at);
  if (found == state().mappings.end() || found->second.bytes != bytes) return Result::invalid_value;
  if (mmap(pointer(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    return Result::unmap_failed;
  state().mappings.erase(found);
  return Result::success;
}

Result cuMemSetAccess(DevicePtr at, std::size_t bytes, const MemAccessDesc* descriptions, std::size_t count) {
  FAKE_ENTER_VIRTUAL();
  if (!descriptions || count != 1 || bytes == 0 || !whole(bytes)) return Result::invalid_value;
  const MemAccessDesc& wanted = *descriptions;
  if (wanted.location.type != MemLocationType::device) return Result::invalid_value;
  if (wanted.location.id != 0) return Result::invalid_device;
  int protection = PROT_NONE;
  switch (wanted.flags) {
    case MemAccess::none:
      break;
    case MemAccess::read:
      protection = PROT_READ;
      break;
    case MemAccess::read_write:
      protection = PROT_READ | PROT_WRITE;
      break;
    default:
      return Result::invalid_value;
  }
  const auto first = state().mappings.find(at);
  auto last = first;
  std::size_t covered = 0;
  for (; last != state().mappings.end() && last->first == at + covered && covered < bytes; ++last)
    covered += last->second.bytes;
  if (covered != bytes) return Result::invalid_value;
  if (mprotect(pointer(at), bytes, protection) != 0) return Result::operating_system;
  for (auto i = first; i != last; ++i) i->second.access = wanted.flags;
  return Result::success;
}

Result cuMemExportToShareableHandle(void* out, MemHandle handle, MemHandleType type, std::uint64_t flags) {
  FAKE_ENTER_VIRTUAL();
  const auto found = state().handles.find(handle);
  if (!out || found == state().handles.end() || flags != 0 || type != MemHandleType::posix_file_descriptor ||
      !found->second->exportable)
    return Result::invalid_value;
  const int fd = fcntl(found->second->fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return Result::operating_system;
  *static_cast<int*>(out) = fd;
  return Result::success;
}

Result cuMemImportFromShareableHandle(MemHandle* out, void* os_handle, MemHandleType type) {
  FAKE_ENTER_VIRTUAL();
  if (!out || type != MemHandleType::posix_file_descriptor) return Result::invalid_value;
  const int theirs = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
  struct stat status = {};
  if (fstat(theirs, &status) != 0 || status.st_size <= 0 || !whole(static_cast<std::uint64_t>(status.st_size)))
    return Result::invalid_value;
  std::shared_ptr<Memory> memory;
  if (const auto known = state().inodes.find(status.st_ino); known != state().inodes.end())
    memory = known->second.lock();
  if (!memory) {
    const int fd = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return Result::operating_system;
    memory = std::make_shared<Memory>(fd, static_cast<std::size_t>(status.st_size), true);
    memory->inode = status.st_ino;
    state().inodes[memory->inode] = memory;
  }
  *out = state().next++ << 8;
  state().handles[*out] = memory;
  return Result::success;
}

}  // extern "C"
}  // namespace canopy::cuda
