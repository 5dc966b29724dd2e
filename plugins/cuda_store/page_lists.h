#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <cuda/gpu.h>

namespace canopy::cuda {

/// Copies page lists that do not fit into the parameters of a launch to the device. REQUIRES: the context is current.
class PageLists {
 public:
  static constexpr std::uint32_t kPages = 65536;  ///< most pages in a list
  static constexpr std::size_t kSlots = 4;
  static constexpr std::uint64_t kBytes = kSlots * kPages * sizeof(Page);  ///< bytes on the device for all lists

  explicit PageLists(Gpu& gpu) : gpu_(gpu) {}
  ~PageLists() {
    for (Slot& slot : slots_) {
      if (slot.used) slot.used->wait();
      slot.used.reset();
      if (slot.device) static_cast<void>(gpu_.driver().mem_free(slot.device));
      if (slot.host) static_cast<void>(gpu_.driver().mem_free_host(slot.host));
    }
  }
  PageLists(const PageLists&) = delete;
  PageLists& operator=(const PageLists&) = delete;

  /// Copies the lists to the device, one after the other. Returns their address there, for kernels queued on `stream`
  /// next; null on failure (see Gpu::failure). REQUIRES: at most kPages pages in both together; the caller calls used()
  /// next.
  const Page* put(std::span<const Page> first, std::span<const Page> second, StreamHandle stream) {
    Slot& slot = slots_[next_];
    void* host = slot.host;
    const std::size_t all = kPages * sizeof(Page), bytes = (first.size() + second.size()) * sizeof(Page);
    if (!slot.used) slot.used = std::make_unique<Event>(gpu_);
    if (!host && !gpu_.note("cuMemHostAlloc", gpu_.driver().mem_host_alloc(&host, all, kHostAllocPortable)))
      return nullptr;
    slot.host = static_cast<Page*>(host);
    if (!slot.device && !gpu_.note("cuMemAlloc", gpu_.driver().mem_alloc(&slot.device, all))) return nullptr;
    if (!slot.used->wait()) return nullptr;
    std::copy(first.begin(), first.end(), slot.host);
    std::copy(second.begin(), second.end(), slot.host + first.size());
    return gpu_.note("cuMemcpyHtoDAsync", gpu_.driver().memcpy_htod_async(slot.device, slot.host, bytes, stream))
               ? reinterpret_cast<const Page*>(slot.device)
               : nullptr;
  }
  void used(StreamHandle stream) {
    slots_[next_].used->record(stream);
    next_ = (next_ + 1) % slots_.size();
  }

 private:
  struct Slot {
    Page* host = nullptr;
    DevicePtr device = 0;
    std::unique_ptr<Event> used;
  };
  Gpu& gpu_;
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace canopy::cuda
