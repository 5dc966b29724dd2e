#pragma once
/// Helpers of the tests of the CUDA store. The tests run over the driver that CANOPY_CUDA_DRIVER names: the fake, or a
/// real one. The suite "fake" needs functions that only the fake has.

#include <canopy/base/random.h>
#include <conformance/model/plugins.h>
#include <cuda/driver.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fake_cuda/fake_cuda.h>

#include <canopy/kv_store.h>

#include <cstdlib>
#include <cstring>

namespace cuda_store_test {

using namespace canopy;
using namespace canopy::test;
using cuda::DevicePtr;
using cuda::Driver;
using cuda::Result;
using cuda::StreamHandle;
using Bytes = std::vector<std::byte>;

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

inline const char* library() {
  const char* chosen = std::getenv("CANOPY_CUDA_DRIVER");
  return chosen && *chosen ? chosen : Driver::kLibrary;
}

/// The controls of the fake.
struct Fake {
#define CANOPY_CONTROLS(X) \
  X(reset) X(memory) X(devices) X(attribute) X(not_ready) X(eager) X(fail) X(calls) X(live) X(log)
#define CANOPY_X(name) decltype(&fake_cuda_##name) name = nullptr;
  CANOPY_CONTROLS(CANOPY_X)
#undef CANOPY_X
  FakeCudaLive now() const {
    FakeCudaLive all;
    live(&all);
    return all;
  }
};

/// Null where the driver is a real one.
inline const Fake* fake() {
  static const Fake* const found = []() -> const Fake* {
    void* const handle = dlopen(library(), RTLD_NOW | RTLD_LOCAL);
    if (!handle || !dlsym(handle, "fake_cuda_reset")) return nullptr;
    static Fake controls;
#define CANOPY_X(name) controls.name = reinterpret_cast<decltype(controls.name)>(dlsym(handle, "fake_cuda_" #name));
    CANOPY_CONTROLS(CANOPY_X)
#undef CANOPY_X
    return &controls;
  }();
  return found;
}

#define MUST(call) REQUIRE(static_cast<int>(call) == 0)

/// The device, with its context current in this thread. The fake is as at its start before and after.
class Device {
 public:
  Device() {
    if (fake()) fake()->reset();
    std::string why;
    driver_ = Driver::open(library(), why);
    REQUIRE_MESSAGE(driver_, why);
    MUST(driver_->init(0));
    MUST(driver_->device_primary_ctx_retain(&context_, 0));
    MUST(driver_->ctx_push_current(context_));
  }
  ~Device() {
    cuda::ContextHandle ours = nullptr;
    static_cast<void>(driver_->ctx_pop_current(&ours));
    static_cast<void>(driver_->device_primary_ctx_release(0));
    if (fake()) fake()->reset();
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  const Driver* operator->() const { return driver_.get(); }

  std::uint64_t free_bytes() const {
    std::size_t free = 0, total = 0;
    MUST(driver_->mem_get_info(&free, &total));
    return free;
  }

 private:
  std::shared_ptr<const Driver> driver_;
  cuda::ContextHandle context_ = nullptr;
};

class DeviceStream {
 public:
  explicit DeviceStream(const Device& device) : device_(device) {
    MUST(device_->stream_create_with_priority(&handle_, cuda::kStreamNonBlocking, 0));
  }
  ~DeviceStream() { static_cast<void>(device_->stream_destroy(handle_)); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  StreamHandle get() const { return handle_; }
  void wait() const { MUST(device_->stream_synchronize(handle_)); }

 private:
  const Device& device_;
  StreamHandle handle_ = nullptr;
};

/// Memory of the device.
class DeviceBytes {
 public:
  DeviceBytes(const Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
    MUST(device_->mem_alloc(&at_, bytes));
  }
  ~DeviceBytes() { static_cast<void>(device_->mem_free(at_)); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  std::byte* data() const { return reinterpret_cast<std::byte*>(at_); }
  std::size_t size() const { return bytes_; }

 private:
  const Device& device_;
  DevicePtr at_ = 0;
  std::size_t bytes_;
};

/// Bytes of the device, once everything queued on `stream` is done.
inline Bytes download(const Device& device, const std::byte* at, std::size_t bytes, StreamHandle stream) {
  Bytes out(bytes);
  MUST(device->memcpy_dtoh_async(out.data(), reinterpret_cast<DevicePtr>(at), bytes, stream));
  MUST(device->stream_synchronize(stream));
  return out;
}
inline void upload(const Device& device, std::byte* at, const Bytes& bytes, StreamHandle stream) {
  MUST(device->memcpy_htod_async(reinterpret_cast<DevicePtr>(at), bytes.data(), bytes.size(), stream));
  MUST(device->stream_synchronize(stream));
}

/// Pinned memory of the host.
class Pinned {
 public:
  Pinned(const Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
    MUST(device_->mem_host_alloc(&at_, bytes, cuda::kHostAllocPortable));
  }
  ~Pinned() { static_cast<void>(device_->mem_free_host(at_)); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(at_); }
  std::size_t size() const { return bytes_; }

 private:
  const Device& device_;
  void* at_ = nullptr;
  std::size_t bytes_;
};

inline Bytes random_bytes(Random& prng, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = prng.next();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, count - i));
  }
  return bytes;
}

/// One stream of rows, all of it in the smallest segments there are: 2 MiB.
inline std::shared_ptr<KVStore> small_store(const std::string& more = "", std::uint64_t pages = kUnlimited) {
  return make<KVStore>(
      "cuda", {16, 64, pages},
      "{ layers: 2, streams: { k: 64, v: 32 }, addresses: 1073741824, headroom: 0, staging: 4194304" + more + " }");
}
inline constexpr std::uint64_t kSmallSegment = 4 * kMiB;  ///< bytes of a segment of small_store(), both streams
inline constexpr std::uint64_t kSmallStreams = 2;

}  // namespace cuda_store_test
