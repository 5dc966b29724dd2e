#pragma once

#include <canopy/kv_layout.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "gpu.h"

namespace canopy::cuda {

/// The memory of a pool on the GPU. The addresses of all segments are reserved once; memory is mapped behind a segment
/// and unmapped again. Taking memory from the system is slow, so a thread of its own keeps some ready, which fits any
/// segment; back() maps it. Memory is unmapped only when the GPU has done all that was queued before. Where the device
/// cannot map memory there is one fixed piece instead, and every segment in it has memory from the start.
///
/// REQUIRES, for all but the constructor and destructor: the GPU's context is current, and no graph is being captured.
class Segments {
 public:
  struct Options {
    std::uint64_t addresses = std::uint64_t{4} << 40;  ///< bytes to reserve at most
    std::uint64_t headroom = std::uint64_t{2} << 30;   ///< bytes of the device's memory that are never taken
    std::uint64_t buffers = 0;                         ///< bytes that the store itself needs beside the pool
    std::uint32_t ahead = 1;                           ///< segments whose memory is taken before it is asked for
  };

  /// Throws std::runtime_error or std::invalid_argument, with a sentence, if there cannot be even one segment.
  Segments(Gpu& gpu, const Options& options, std::span<const Stream> streams, std::uint32_t layers,
           const KVStore::Context& context);
  ~Segments();

  const KvView& view() const { return layout_.view; }

  bool back(std::uint32_t segment);
  /// Work that is queued on `stream` may still use the segment.
  void unback(std::uint32_t segment, StreamHandle stream);
  void pin(std::uint32_t segment) { ++segments_[segment].pins; }
  void unpin(std::uint32_t segment, StreamHandle stream);
  SharedMemory share(std::uint32_t segment, std::size_t stream);
  /// Unmaps the draining segments that the GPU does not use any more. With `wait`, waits for the GPU and unmaps all.
  void reap(bool wait);

 private:
  using Handles = std::array<MemHandle, kMaxStreams>;  ///< by stream: memory for any segment
  struct State {
    Handles handles{};
    std::uint32_t pins = 0;                              ///< pin() without unpin()
    std::uint32_t mapped = 0;                            ///< a bit for each stream
    bool taken = false, usable = false, backed = false;  ///< has handles; all are mapped, with access; wanted
    std::uint64_t generation = 0;
    std::unique_ptr<Event> last_use;  ///< set while the segment is draining
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
  KvLayout layout_;
  bool fixed_ = false;
  DevicePtr base_ = 0;
  std::uint64_t bytes_ = 0;                 ///< reserved, or taken where the pool is fixed
  std::vector<State> segments_;             ///< up to the last one that was ever backed
  std::uint64_t expected_;                  ///< segments that the pool may have, as far as is known
  std::uint64_t taken_ = 0, draining_ = 0;  ///< segments with memory; of those, waiting for the GPU to be unmapped

  std::mutex mutex_;  ///< guards all below
  std::condition_variable changed_;
  std::vector<Handles> ready_;      ///< memory behind no addresses
  std::size_t ahead_, wanted_ = 0;  ///< how many are kept ready; how many should be now
  bool creating_ = false, pause_ = false, stop_ = false;
  std::thread preparer_;
};

}  // namespace canopy::cuda
