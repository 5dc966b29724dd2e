#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <cuda/driver.h>
#include <fake_cuda/fake_cuda.h>

namespace doctest {
template <>
struct StringMaker<canopy::cuda::Result> {
  static String convert(canopy::cuda::Result result) { return toString(static_cast<int>(result)); }
};
}  // namespace doctest

namespace canopy::cuda {

inline constexpr std::size_t kMiB = 1U << 20;
inline constexpr std::size_t kPiece = 2 * kMiB;  ///< the fake's smallest mapping

#define OK(call) CHECK((call) == Result::success)
#define MUST(call) REQUIRE((call) == Result::success)

/// The fake as it is at the start of a program, opened as the real driver would be, with its context current.
struct FakeDriver {
  explicit FakeDriver(bool with_context = true) {
    fake_cuda_reset();
    std::string why;
    driver = Driver::open(FAKE_CUDA, why);
    REQUIRE_MESSAGE(driver, why);
    if (!with_context) return;
    MUST(driver->init(0));
    MUST(driver->device_primary_ctx_retain(&context, 0));
    MUST(driver->ctx_push_current(context));
  }
  ~FakeDriver() { fake_cuda_reset(); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const Driver* operator->() const { return driver.get(); }

  static MemAllocationProp device_memory(MemHandleType exported = MemHandleType::none) {
    MemAllocationProp prop;
    prop.type = MemAllocationType::pinned;
    prop.location = {MemLocationType::device, 0};
    prop.requested_handle_types = exported;
    return prop;
  }
  DevicePtr reserve(std::size_t bytes) const {
    DevicePtr at = 0;
    MUST(driver->mem_address_reserve(&at, bytes, 0, 0, 0));
    return at;
  }
  MemHandle create(std::size_t bytes, MemHandleType exported = MemHandleType::none) const {
    const MemAllocationProp prop = device_memory(exported);
    MemHandle handle = 0;
    MUST(driver->mem_create(&handle, bytes, &prop, 0));
    return handle;
  }
  Result access(DevicePtr at, std::size_t bytes, MemAccess flags = MemAccess::read_write) const {
    const MemAccessDesc description{{MemLocationType::device, 0}, flags};
    return driver->mem_set_access(at, bytes, &description, 1);
  }
  /// Reserved, mapped, accessible; its handle is released.
  DevicePtr mapped(std::size_t bytes) const {
    const DevicePtr at = reserve(bytes);
    const MemHandle handle = create(bytes);
    MUST(driver->mem_map(at, bytes, 0, handle, 0));
    MUST(driver->mem_release(handle));
    MUST(access(at, bytes));
    return at;
  }
  StreamHandle stream() const {
    StreamHandle made = nullptr;
    MUST(driver->stream_create_with_priority(&made, kStreamNonBlocking, 0));
    return made;
  }
  EventHandle event(unsigned flags = kEventDisableTiming) const {
    EventHandle made = nullptr;
    MUST(driver->event_create(&made, flags));
    return made;
  }
  static FakeCudaLive live() {
    FakeCudaLive now;
    fake_cuda_live(&now);
    return now;
  }

  std::shared_ptr<const Driver> driver;
  ContextHandle context = nullptr;
};

/// Device memory is memory of this process; what a test may look at is what has been waited for.
inline std::vector<unsigned char> bytes_at(DevicePtr at, std::size_t count) {
  std::vector<unsigned char> out(count);
  std::memcpy(out.data(), reinterpret_cast<const void*>(at), count);
  return out;
}
inline std::vector<unsigned char> all(unsigned char value, std::size_t count) {
  return std::vector<unsigned char>(count, value);
}

}  // namespace canopy::cuda
