#pragma once

#include <array>
#include <span>
#include <vector>

#include <cuda/gpu.h>

namespace canopy::cuda {

/// A part of a lane's buffer and its place on the host.
struct Piece {
  std::byte* host;
  std::uint64_t offset, bytes;  ///< position in the buffer and size
};

/// Copies between the host and the pool. To the host, a kernel packs rows into a buffer on the device, and the copy
/// engine transfers the buffer across the bus; the reverse to the device. No kernel accesses host memory. There are two
/// lanes, each a stream with a buffer, so that one packs while the other copies. Host memory that is not pinned is
/// copied through a pinned buffer of the lane.
///
/// A transfer: begin(), then for each chunk of at most bytes() a lane() and, on its stream, the kernel and to_host(),
/// or to_device() and the kernel; then end(). REQUIRES: the context is current, and no graph is being captured.
class Transfer {
 public:
  static constexpr std::size_t kLanes = 2;

  Transfer(Gpu& gpu, std::uint64_t bytes) : gpu_(gpu), bytes_(bytes) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::uint64_t bytes() const { return bytes_; }

  struct Lane {
    StreamHandle stream = nullptr;
    DevicePtr buffer = 0;
    std::byte* pinned = nullptr;
    std::unique_ptr<Event> copied;  ///< the copy engine no longer uses the host's memory
    std::vector<Piece> to_unpack;   ///< pieces in `pinned` that the host still has to copy out
    std::uint64_t ticket = 0;       ///< latest transfer left in this lane; 0: the host has waited for it
  };

  /// Orders the transfer after the work queued on `stream`. Returns false if there is not enough memory (see
  /// Gpu::failure).
  bool begin(StreamHandle stream);
  /// Returns the next lane. On the host its previous work is complete; on the device its stream keeps the order.
  Lane& lane();
  /// Copies to the device. Returns false on failure (see Gpu::failure).
  bool to_device(Lane& lane, std::span<const Piece> pieces);
  void to_host(Lane& lane, std::span<const Piece> pieces);
  /// Ends the transfer: the host may use its memory again, and work queued on `stream` runs after the transfer.
  void end(StreamHandle stream);

  // Replacements of end(), for a transfer that the host does not wait for:
  /// Orders work queued later on `stream` after the present work of the lane's stream.
  void then(Lane& lane, StreamHandle stream);
  /// Records the lane's work as part of this transfer. The host's memory is in use until ended() returns this ticket or
  /// a later one.
  void leave(Lane& lane, std::uint64_t ticket);
  /// Returns the latest ticket up to which all left transfers have ended; `last` is the latest one. Copies completed
  /// data out.
  std::uint64_t ended(std::uint64_t last);
  /// Waits for all left transfers.
  void wait();

 private:
  bool open(Lane& lane);
  bool pinned(const Piece& piece) const;
  void finish(Lane& lane);

  Gpu& gpu_;
  std::uint64_t bytes_;
  std::array<Lane, kLanes> lanes_;
  std::size_t next_ = 0;
  std::unique_ptr<Event> order_;
};

}  // namespace canopy::cuda
