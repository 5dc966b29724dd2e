#include "copies.h"

#include <cstring>

namespace canopy::fake_cuda {
namespace {

bool there(const Side& side, bool write) {
  if (side.pinned != 0) return host_number(side.at, side.bytes) == side.pinned;
  return !side.device || device_range(reinterpret_cast<DevicePtr>(side.at), side.bytes, write);
}

template <class Ranges>
bool inside(const Ranges& ranges, DevicePtr at) {
  const auto after = ranges.upper_bound(at);
  return after != ranges.begin() && at - std::prev(after)->first < std::prev(after)->second;
}

bool device_address(DevicePtr at) {
  const State& s = state();
  if (inside(s.allocations, at) || inside(s.reservations, at)) return true;
  for (const auto& [base, bytes] : s.freed)
    if (at - base < bytes) return true;
  return false;
}

/// A copy of rows, or of anything from linear memory.
struct Rows {
  Side side;
  std::size_t pitch = 0;
};

Rows rows(const Memcpy2D& c, bool source) {
  const std::size_t pitch = source ? c.src_pitch : c.dst_pitch;
  const std::size_t skipped = source ? c.src_y * pitch + c.src_x_bytes : c.dst_y * pitch + c.dst_x_bytes;
  const std::size_t span = (c.height - 1) * pitch + c.width_bytes;
  const DevicePtr device = (source ? c.src_device : c.dst_device) + skipped;
  switch (source ? c.src_type : c.dst_type) {
    case MemoryType::host: {
      const void* const base = source ? c.src_host : c.dst_host;
      return {host_side(static_cast<const std::byte*>(base) + skipped, span), pitch};
    }
    case MemoryType::unified:
      return {any_side(device, span), pitch};
    default:
      return {device_side(device, span), pitch};
  }
}

}  // namespace

Side device_side(DevicePtr at, std::size_t bytes) {
  const std::uint64_t pinned = host_number(pointer(at), bytes);
  return {pointer(at), bytes, pinned == 0, pinned};
}

Side host_side(const void* at, std::size_t bytes) {
  const std::uint64_t pinned = host_number(at, bytes);
  if (pinned == 0) ++state().pageable_copies;
  return {const_cast<std::byte*>(static_cast<const std::byte*>(at)), bytes, false, pinned};
}

Side any_side(DevicePtr at, std::size_t bytes) {
  return device_address(at) ? device_side(at, bytes) : host_side(pointer(at), bytes);
}

Result still_there(const Side& to, const Side& from) {
  return there(to, true) && there(from, false) ? Result::success : made_sticky(Result::illegal_address);
}

Result copy(const Side& to, const Side& from) {
  if (const Result result = still_there(to, from); result != Result::success) return result;
  return guarded([&] {
    const bool overlap = to.at < from.at + from.bytes && from.at < to.at + to.bytes;
    if (overlap) std::memset(to.at, kPoison, to.bytes);  // not defined on a GPU: never what was hoped for
    else std::memcpy(to.at, from.at, to.bytes);
  });
}

}  // namespace canopy::fake_cuda

namespace canopy::cuda {

using namespace canopy::fake_cuda;

extern "C" {

Result cuMemcpyHtoDAsync_v2(DevicePtr to, const void* from, std::size_t bytes, StreamHandle stream) {
  FAKE_ENTER(kContext);
  if (bytes == 0) return Result::success;
  if (to == 0 || !from) return Result::invalid_value;
  return enqueue(stream, [to = device_side(to, bytes), from = host_side(from, bytes)] { return copy(to, from); });
}

Result cuMemcpyDtoHAsync_v2(void* to, DevicePtr from, std::size_t bytes, StreamHandle stream) {
  FAKE_ENTER(kContext);
  if (bytes == 0) return Result::success;
  if (!to || from == 0) return Result::invalid_value;
  return enqueue(stream, [to = host_side(to, bytes), from = device_side(from, bytes)] { return copy(to, from); });
}

Result cuMemcpyDtoDAsync_v2(DevicePtr to, DevicePtr from, std::size_t bytes, StreamHandle stream) {
  FAKE_ENTER(kContext);
  if (bytes == 0) return Result::success;
  if (to == 0 || from == 0) return Result::invalid_value;
  return enqueue(stream, [to = device_side(to, bytes), from = device_side(from, bytes)] { return copy(to, from); });
}

Result cuMemcpy2DAsync_v2(const Memcpy2D* description, StreamHandle stream) {
  FAKE_ENTER(kContext);
  if (!description) return Result::invalid_value;
  const Memcpy2D& c = *description;
  if (c.src_type == MemoryType::array || c.dst_type == MemoryType::array) return Result::not_supported;
  if (c.width_bytes == 0 || c.height == 0) return Result::success;
  if (c.src_x_bytes + c.width_bytes > c.src_pitch || c.dst_x_bytes + c.width_bytes > c.dst_pitch)
    return Result::invalid_value;
  const Rows to = rows(c, false);
  const Rows from = rows(c, true);
  return enqueue(stream, [to, from, width = c.width_bytes, height = c.height] {
    if (const Result result = still_there(to.side, from.side); result != Result::success) return result;
    return guarded([&] {
      for (std::size_t row = 0; row < height; ++row)
        std::memcpy(to.side.at + row * to.pitch, from.side.at + row * from.pitch, width);
    });
  });
}

Result cuMemsetD8Async(DevicePtr to, unsigned char value, std::size_t bytes, StreamHandle stream) {
  FAKE_ENTER(kContext);
  if (bytes == 0) return Result::success;
  if (to == 0) return Result::invalid_value;
  return enqueue(stream, [to = device_side(to, bytes), value] {
    if (const Result result = still_there(to, {}); result != Result::success) return result;
    return guarded([&] { std::memset(to.at, value, to.bytes); });
  });
}

}  // extern "C"
}  // namespace canopy::cuda
