#pragma once

#include <canopy/helpers/kv_layout.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <cuda/gpu.h>

namespace canopy::cuda {

/// The memory of a pool on the GPU. The addresses of all segments are reserved once; memory is mapped to a segment and
/// unmapped again. Allocating memory is slow, so a separate thread keeps some ready that fits any segment; back() maps
/// it. Memory is unmapped only when the GPU has completed everything queued before. If the device cannot map memory,
/// one fixed allocation is used instead, and every segment in it has memory from the start.
///
/// REQUIRES, for all but the constructor and destructor: the GPU's context is current, and no graph is being captured.
class Segments {
 public:
  struct Options {
    std::uint64_t addresses = std::uint64_t{4} << 40;  ///< most bytes to reserve
    std::uint64_t headroom = std::uint64_t{2} << 30;   ///< bytes of device memory that are never allocated
    std::uint64_t buffers = 0;                         ///< bytes that the store needs in addition to the pool
    std::uint32_t ahead = 1;                           ///< segments whose memory is allocated in advance
  };

  /// Throws std::runtime_error or std::invalid_argument if there is no room for one segment.
  Segments(Gpu& gpu, const Options& options, std::span<const Stream> streams, std::uint32_t layers,
           const KVStore::Context& context);
  ~Segments();

  const KVView& view() const { return layout_.view; }

  bool back(std::uint32_t segment);
  /// Releases a segment that work queued on `stream` may still use.
  void unback(std::uint32_t segment, StreamHandle stream);
  void pin(std::uint32_t segment) { ++segments_[segment].pins; }
  void unpin(std::uint32_t segment, StreamHandle stream);
  SharedMemory share(std::uint32_t segment, std::size_t stream);
  /// Unmaps the draining segments that the GPU no longer uses. With `wait`, waits for the GPU and unmaps all.
  void reap(bool wait);

 private:
  using Handles = std::array<MemHandle, kMaxStreams>;  ///< memory for any segment, by stream
  struct State {
    Handles handles{};
    std::uint32_t pins = 0;                              ///< calls of pin() without unpin()
    std::uint32_t mapped = 0;                            ///< one bit per stream
    bool taken = false, usable = false, backed = false;  ///< has handles; all mapped with access; wanted
    std::uint64_t generation = 0;
    std::unique_ptr<Event> last_use;  ///< not null while the segment is draining
  };

  void reserve(const Options& options, std::span<const Stream> streams, std::uint32_t layers, Units page_size,
               std::uint32_t segment_pages);
  void take_fixed(const Options& options, std::span<const Stream> streams, std::uint32_t layers, Units page_size,
                  std::uint32_t segment_pages);
  bool vmm_works();
  bool vmm_works_with(const MemAllocationProp& properties) const;
  DevicePtr at(std::uint32_t segment, std::size_t stream) const;
  Result create(Handles& handles) const;
  void release(Handles& handles);
  std::optional<Handles> obtain();
  bool map(std::uint32_t segment);
  void drain_if_unused(std::uint32_t segment, StreamHandle stream);
  void drop(std::uint32_t segment);
  void prepare();

  Gpu& gpu_;
  std::uint64_t headroom_;
  MemAllocationProp properties_;
  KVLayout layout_;
  bool fixed_ = false;
  DevicePtr base_ = 0;
  std::uint64_t bytes_ = 0;                 ///< reserved bytes; allocated bytes if the pool is fixed
  std::vector<State> segments_;             ///< up to the last segment that was ever backed
  std::uint64_t expected_;                  ///< expected number of segments of the pool
  std::uint64_t taken_ = 0, draining_ = 0;  ///< segments with memory; those of them that wait for the GPU

  std::mutex mutex_;  ///< guards all members below
  std::condition_variable changed_;
  std::vector<Handles> ready_;      ///< memory without addresses
  std::size_t ahead_, wanted_ = 0;  ///< number of segments kept ready; number wanted now
  bool creating_ = false, pause_ = false, stop_ = false;
  std::thread preparer_;
};

}  // namespace canopy::cuda
