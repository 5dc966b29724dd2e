#pragma once

#include <cuda/gpu.h>

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace canopy::bench::gpu {

using cuda::DevicePtr, cuda::EventHandle, cuda::StreamHandle;

/// The GPU for a program beside the store, with streams of its own. Its context is current on the thread that opened
/// it, for its whole lifetime. Every failure throws std::runtime_error.
class Device {
 public:
  /// Opens the first device. Throws if there is none.
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const cuda::Driver& driver() const { return gpu_.driver(); }
  void check(const char* call, cuda::Result result) const {
    if (result != cuda::Result::success) throw std::runtime_error(driver().sentence(call, result));
  }
  int attribute(cuda::DeviceAttribute attribute) const { return gpu_.attribute(attribute); }
  std::uint32_t multiprocessors() const { return gpu_.multiprocessors(); }
  std::uint64_t free_bytes() const;

  void copy(DevicePtr to, DevicePtr from, std::uint64_t bytes, StreamHandle on) const {
    check("cuMemcpyDtoDAsync", driver().memcpy_dtod_async(to, from, bytes, on));
  }
  void to_device(DevicePtr to, const void* from, std::uint64_t bytes, StreamHandle on) const {
    check("cuMemcpyHtoDAsync", driver().memcpy_htod_async(to, from, bytes, on));
  }
  void to_host(void* to, DevicePtr from, std::uint64_t bytes, StreamHandle on) const {
    check("cuMemcpyDtoHAsync", driver().memcpy_dtoh_async(to, from, bytes, on));
  }
  void fill(DevicePtr at, unsigned char byte, std::uint64_t bytes, StreamHandle on) const {
    check("cuMemsetD8Async", driver().memset_d8_async(at, byte, bytes, on));
  }
  void wait(StreamHandle on) const { check("cuStreamSynchronize", driver().stream_synchronize(on)); }
  /// Launches a kernel; does nothing for an empty grid. `job`: the kernel's parameter.
  void launch(cuda::Kernel kernel, std::uint32_t width, cuda::Grid grid, const void* job, StreamHandle on) const;

  std::string name;
  bool fake = false;
  int driver_version = 0;
  std::uint64_t total_bytes = 0;
  StreamHandle stream = nullptr, beside = nullptr;

 private:
  mutable cuda::Gpu gpu_{0};
  cuda::ContextScope scope_{gpu_.driver(), gpu_.context()};
};

/// Device memory.
class Buffer {
 public:
  Buffer(const Device& device, std::uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  DevicePtr at = 0;
  std::uint64_t bytes;

 private:
  const Device& device_;
};

/// Pinned host memory.
class Pinned {
 public:
  Pinned(const Device& device, std::uint64_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::byte* at = nullptr;
  std::uint64_t bytes;

 private:
  const Device& device_;
};

class Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(StreamHandle on) const { device_.check("cuEventRecord", device_.driver().event_record(handle, on)); }
  void wait() const { device_.check("cuEventSynchronize", device_.driver().event_synchronize(handle)); }
  bool done() const;
  /// Returns the seconds on the device since an earlier event. REQUIRES: both are done.
  double since(const Event& earlier) const;
  EventHandle handle = nullptr;

 private:
  const Device& device_;
};

/// Launches a layout's kernels without a store, at their full width: for pools of other layouts, and to time a kernel
/// without the store's own work.
class Mover {
 public:
  /// REQUIRES: no list is longer than `pages`.
  Mover(const Device& device, const KVView& view, std::size_t pages);
  /// Copies the page numbers to the device and waits; they stay until the next call.
  void use(std::span<const Page> pages, std::span<const Page> others = {});
  /// Moves the tokens of one layer, from the first page of the list on; `packed` holds the streams one after the other.
  void rows(cuda::Kernel kernel, std::uint32_t layer, std::uint32_t count, DevicePtr packed, StreamHandle on) const;
  /// Copies the pages of the list to the others.
  void copy(StreamHandle on) const;
  void images(cuda::Kernel kernel, DevicePtr images, StreamHandle on) const;

  std::uint64_t image_stride() const { return cuda::image_stride(pool_); }
  std::uint64_t token_bytes() const;  ///< bytes of a token in one layer
  std::uint64_t page_bytes() const { return token_bytes() * view_.page_size * view_.layers; }

  /// Writes bytes that depend on `seed` to every row of these pages; stamped() returns true if they are there.
  /// REQUIRES: the device is idle, or works on other memory.
  void stamp(std::span<const Page> pages, std::uint64_t seed);
  bool stamped(std::span<const Page> pages, std::uint64_t seed);

 private:
  const Device& device_;
  KVView view_;
  cuda::Pool pool_;
  std::size_t most_;
  Buffer lists_;
  std::size_t count_ = 0;
};

}  // namespace canopy::bench::gpu
