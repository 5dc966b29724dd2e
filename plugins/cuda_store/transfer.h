#pragma once

#include <array>
#include <span>
#include <vector>

#include "gpu.h"

namespace canopy::cuda {

/// A stretch of a lane's buffer, and its place on the host.
struct Piece {
  std::byte* host;
  std::uint64_t offset, bytes;  ///< in the buffer
};

/// Copies between the host and the pool. A kernel packs rows into a buffer on the device and the copy engine takes them
/// across the bus from there, or the other way round: no kernel ever reads or writes memory of the host. There are two
/// lanes, each a stream with a buffer, so that one packs while the other copies. Memory of the host that is not pinned
/// is copied through a pinned buffer of the lane.
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
    std::unique_ptr<Event> copied;  ///< the copy engine is done with the host's memory
    std::vector<Piece> to_unpack;   ///< pieces in `pinned` that the host has to copy out
    std::uint64_t ticket = 0;       ///< of the transfer that was left to it; 0: the host has waited for it
  };

  /// Orders the transfer after the work queued on `stream`. False if there is no memory for it (Gpu::failure says why).
  bool begin(StreamHandle stream);
  /// The next lane. Its former work is done as far as the host sees; on the device the lane's stream keeps the order.
  Lane& lane();
  /// False if that failed (Gpu::failure says why).
  bool to_device(Lane& lane, std::span<const Piece> pieces);
  void to_host(Lane& lane, std::span<const Piece> pieces);
  /// Afterwards the host may use its memory again, and work queued on `stream` comes after the transfer.
  void end(StreamHandle stream);

  // In the place of end(), for a transfer that the host does not wait for:
  /// Work queued on `stream` from now on comes after what the lane's own stream has by now.
  void then(Lane& lane, StreamHandle stream);
  /// The lane's work is part of this transfer. The host's memory is in use until ended() says so.
  void leave(Lane& lane, std::uint64_t ticket);
  /// Every transfer that was left, up to this ticket, has ended; `last` is the latest. It copies out what has come.
  std::uint64_t ended(std::uint64_t last);
  /// Waits for all of them.
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
