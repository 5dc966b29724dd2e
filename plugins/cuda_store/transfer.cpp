#include "transfer.h"

#include <algorithm>
#include <cstring>

namespace canopy::cuda {

Transfer::~Transfer() {
  for (Lane& lane : lanes_) {
    if (lane.stream) gpu_.wait(lane.stream);
    lane.copied.reset();
    if (lane.stream) static_cast<void>(gpu_.driver().stream_destroy(lane.stream));
    if (lane.buffer) static_cast<void>(gpu_.driver().mem_free(lane.buffer));
    if (lane.pinned) static_cast<void>(gpu_.driver().mem_free_host(lane.pinned));
  }
}

bool Transfer::open(Lane& lane) {
  const Driver& driver = gpu_.driver();
  // The lowest priority: a model on a stream of higher priority goes first, and what it leaves is still faster than the
  // bus.
  constexpr int kLow = 0;
  if (!lane.stream && !gpu_.note("cuStreamCreateWithPriority",
                                 driver.stream_create_with_priority(&lane.stream, kStreamNonBlocking, kLow)))
    return false;
  if (!lane.buffer) {
    DevicePtr buffer = 0;
    if (!gpu_.note("cuMemAlloc", driver.mem_alloc(&buffer, bytes_))) return false;
    // The padding of images crosses the bus with them, so it must not hold data of another process.
    if (!gpu_.note("cuMemsetD8Async", driver.memset_d8_async(buffer, 0, bytes_, lane.stream))) {
      static_cast<void>(driver.mem_free(buffer));
      return false;
    }
    lane.buffer = buffer;
  }
  void* memory = lane.pinned;
  if (!lane.pinned && !gpu_.note("cuMemHostAlloc", driver.mem_host_alloc(&memory, bytes_, kHostAllocPortable)))
    return false;
  lane.pinned = static_cast<std::byte*>(memory);
  if (!lane.copied) lane.copied = std::make_unique<Event>(gpu_);
  return true;
}

bool Transfer::begin(StreamHandle stream) {
  for (Lane& lane : lanes_)
    if (gpu_.broken() || !open(lane)) return false;
  if (!order_) order_ = std::make_unique<Event>(gpu_);
  if (!order_->record(stream)) return false;
  for (Lane& lane : lanes_) order_->before(lane.stream);
  return true;
}

bool Transfer::pinned(const Piece& piece) const {
  DevicePtr alias = 0;
  return piece.bytes > 0 && gpu_.driver().mem_host_get_device_pointer(&alias, piece.host, 0) == Result::success &&
         gpu_.driver().mem_host_get_device_pointer(&alias, piece.host + piece.bytes - 1, 0) == Result::success;
}

void Transfer::finish(Lane& lane) {
  if (lane.copied->wait())
    for (const Piece& piece : lane.to_unpack) std::memcpy(piece.host, lane.pinned + piece.offset, piece.bytes);
  lane.to_unpack.clear();
  lane.ticket = 0;
}

Transfer::Lane& Transfer::lane() {
  Lane& lane = lanes_[next_++ % lanes_.size()];
  finish(lane);
  return lane;
}

bool Transfer::to_device(Lane& lane, std::span<const Piece> pieces) {
  bool fine = true;
  for (const Piece& piece : pieces) {
    const std::byte* from = piece.host;
    if (!pinned(piece)) {
      std::memcpy(lane.pinned + piece.offset, piece.host, piece.bytes);
      from = lane.pinned + piece.offset;
    }
    fine = gpu_.note("cuMemcpyHtoDAsync",
                     gpu_.driver().memcpy_htod_async(lane.buffer + piece.offset, from, piece.bytes, lane.stream)) &&
           fine;
  }
  return lane.copied->record(lane.stream) && fine;
}

void Transfer::to_host(Lane& lane, std::span<const Piece> pieces) {
  lane.to_unpack.reserve(lane.to_unpack.size() + pieces.size());  // before anything is queued
  for (const Piece& piece : pieces) {
    const bool direct = pinned(piece);
    std::byte* const to = direct ? piece.host : lane.pinned + piece.offset;
    const bool fine = gpu_.note(
        "cuMemcpyDtoHAsync", gpu_.driver().memcpy_dtoh_async(to, lane.buffer + piece.offset, piece.bytes, lane.stream));
    if (fine && !direct) lane.to_unpack.push_back(piece);
  }
  lane.copied->record(lane.stream);
}

void Transfer::end(StreamHandle stream) {
  for (Lane& lane : lanes_) {
    finish(lane);
    then(lane, stream);
  }
}

void Transfer::then(Lane& lane, StreamHandle stream) {
  order_->record(lane.stream);
  order_->before(stream);
}

void Transfer::leave(Lane& lane, std::uint64_t ticket) {
  lane.copied->record(lane.stream);
  lane.ticket = ticket;
}

std::uint64_t Transfer::ended(std::uint64_t last) {
  for (Lane& lane : lanes_) {
    if (lane.ticket == 0) continue;
    if (lane.copied->done()) finish(lane);
    else last = std::min(last, lane.ticket - 1);
  }
  return last;
}

void Transfer::wait() {
  for (Lane& lane : lanes_)
    if (lane.ticket != 0) finish(lane);
}

}  // namespace canopy::cuda
