#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "state.h"

namespace canopy::fake_cuda {
namespace {

constexpr std::size_t kKeptPieces = 4096;  ///< freed ones, without access

std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

bool host_overlaps(std::uintptr_t at, std::size_t bytes) {
  const auto& host = state().host;
  const auto after = host.lower_bound(at);
  if (after != host.end() && after->first - at < bytes) return true;
  return after != host.begin() && at - std::prev(after)->first < std::prev(after)->second.bytes;
}

}  // namespace

Memory::~Memory() {
  close(fd);
  state().taken -= taken;
  state().inodes.erase(inode);
}

bool take(std::uint64_t bytes) {
  State& s = state();
  if (bytes > s.memory || s.taken > s.memory - bytes) return false;
  s.taken += bytes;
  return true;
}

bool device_range(DevicePtr at, std::size_t bytes, bool write) {
  const State& s = state();
  if (const auto after = s.allocations.upper_bound(at); after != s.allocations.begin()) {
    const auto [base, size] = *std::prev(after);
    if (at - base < size) return bytes <= size - (at - base);
  }
  // A run over several mappings is fine as long as each follows the one before.
  while (true) {
    const auto after = s.mappings.upper_bound(at);
    if (after == s.mappings.begin()) return false;
    const auto& [base, mapping] = *std::prev(after);
    if (at - base >= mapping.bytes) return false;
    if (mapping.access == MemAccess::none || (write && mapping.access != MemAccess::read_write)) return false;
    const std::size_t here = mapping.bytes - (at - base);
    if (bytes <= here) return true;
    at += here;
    bytes -= here;
  }
}

std::uint64_t host_number(const void* at, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  const auto after = state().host.upper_bound(first);
  if (after == state().host.begin()) return 0;
  const auto& [base, range] = *std::prev(after);
  return first - base < range.bytes && bytes <= range.bytes - (first - base) ? range.number : 0;
}

void forget_memory() {
  State& s = state();
  for (const auto& [at, bytes] : s.reservations) munmap(pointer(at), bytes);
  for (const auto& [at, bytes] : s.allocations) munmap(pointer(at), whole_pages(bytes));
  for (const auto& [at, bytes] : s.freed) munmap(pointer(at), whole_pages(bytes));
  for (const auto& [at, range] : s.host)
    if (range.ours) std::free(pointer(at));
  s.reservations.clear();
  s.mappings.clear();
  s.handles.clear();
  s.allocations.clear();
  s.freed.clear();
  s.host.clear();
  s.taken = 0;
}

}  // namespace canopy::fake_cuda

namespace canopy::cuda {

using namespace canopy::fake_cuda;

extern "C" {

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  FAKE_ENTER(kContext);
  if (!free || !total) return Result::invalid_value;
  *total = state().memory;
  *free = state().memory - std::min(state().taken, state().memory);
  return Result::success;
}

Result cuMemAlloc_v2(DevicePtr* out, std::size_t bytes) {
  FAKE_ENTER(kContext | kNotInCapture);
  if (!out || bytes == 0) return Result::invalid_value;
  if (!take(bytes)) return Result::out_of_memory;
  void* const at =
      mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    state().taken -= bytes;
    return Result::out_of_memory;
  }
  std::memset(at, kPoison, std::min(bytes, kPoisoned));
  *out = reinterpret_cast<DevicePtr>(at);
  state().allocations[*out] = bytes;
  return Result::success;
}

Result cuMemFree_v2(DevicePtr at) {
  FAKE_ENTER(kContext | kNotInCapture);
  State& s = state();
  if (at == 0) return Result::success;
  const auto found = s.allocations.find(at);
  if (found == s.allocations.end()) return Result::invalid_value;
  // The addresses stay reserved for a while, so that work which comes too late meets no other memory.
  mmap(pointer(at), whole_pages(found->second), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
  s.freed.emplace_back(*found);
  s.taken -= found->second;
  s.allocations.erase(found);
  if (s.freed.size() > kKeptPieces) {
    munmap(pointer(s.freed.front().first), whole_pages(s.freed.front().second));
    s.freed.pop_front();
  }
  return Result::success;
}

Result cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags) {
  FAKE_ENTER(kContext | kNotInCapture);
  if (!out || bytes == 0 || flags > 7) return Result::invalid_value;
  // From the heap, where AddressSanitizer watches its ends and its life.
  void* at = nullptr;
  if (posix_memalign(&at, 4096, bytes) != 0) return Result::out_of_memory;
  std::memset(at, kPoison, std::min(bytes, kPoisoned));
  state().host[reinterpret_cast<std::uintptr_t>(at)] = {bytes, state().next++, true};
  *out = at;
  return Result::success;
}

Result cuMemFreeHost(void* at) {
  FAKE_ENTER(kContext | kNotInCapture);
  const auto found = state().host.find(reinterpret_cast<std::uintptr_t>(at));
  if (found == state().host.end() || !found->second.ours) return Result::invalid_value;
  state().host.erase(found);
  std::free(at);
  return Result::success;
}

Result cuMemHostRegister_v2(void* at, std::size_t bytes, unsigned flags) {
  FAKE_ENTER(kContext | kNotInCapture);
  if (!at || bytes == 0 || flags > 15) return Result::invalid_value;
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  if (host_overlaps(first, bytes)) return Result::host_memory_already_registered;
  state().host[first] = {bytes, state().next++, false};
  return Result::success;
}

Result cuMemHostUnregister(void* at) {
  FAKE_ENTER(kContext | kNotInCapture);
  const auto found = state().host.find(reinterpret_cast<std::uintptr_t>(at));
  if (found == state().host.end() || found->second.ours) return Result::host_memory_not_registered;
  state().host.erase(found);
  return Result::success;
}

Result cuMemHostGetDevicePointer_v2(DevicePtr* out, void* at, unsigned flags) {
  FAKE_ENTER(kContext);
  if (!out || flags != 0 || host_number(at, 1) == 0) return Result::invalid_value;
  *out = reinterpret_cast<DevicePtr>(at);
  return Result::success;
}

}  // extern "C"
}  // namespace canopy::cuda
