#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace canopy::slots {

/// Bytes of one file that are read into, or written from, pieces of memory.
struct Transfer {
  int file = -1;
  bool write = false;
  std::uint64_t offset = 0;
  iovec* pieces = nullptr;  ///< changed where a transfer is continued after a part of it
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;  ///< of all pieces
  std::int64_t result =
      0;  ///< once it has ended: the bytes that were moved, or -errno. Less than `bytes`: the file ends
  std::uint64_t moved = 0;                                ///< by parts of it that have ended
  std::uint32_t call = 0, first_record = 0, records = 0;  ///< the storage's own
};

/// Moves bytes without waiting for them. One thread calls it.
class Device {
 public:
  virtual ~Device() = default;
  /// Takes a transfer, which is the device's until it has ended. False: not now, as many as it can have are on the way.
  virtual bool begin(Transfer& transfer) = 0;
  /// All that began is on its way after this.
  virtual void submit() = 0;
  /// Adds transfers that have ended. `wait`: at least one, where one is on the way.
  virtual void collect(std::vector<Transfer*>& ended, bool wait) = 0;
};

/// Ends of transfers make `event`, an eventfd, readable. `depth`: transfers on the way at a time.
/// io_uring; null with a reason if the system has none or refuses it, or this build has no liburing.
std::unique_ptr<Device> uring_device(int event, std::uint32_t depth, std::string& why_not);
/// Threads that wait for one transfer each.
std::unique_ptr<Device> thread_device(int event, std::uint32_t depth, std::uint32_t threads);

/// Accounts for `moved` more bytes of a transfer. True: it goes on behind them.
bool goes_on(Transfer& transfer, std::uint64_t moved);

}  // namespace canopy::slots
