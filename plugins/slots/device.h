#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace canopy::slots {

struct Call;

/// A read of bytes of one file into pieces of memory, or a write from them.
struct Transfer {
  int file = -1;
  bool write = false;
  std::uint64_t offset = 0;
  iovec* pieces = nullptr;  ///< modified when a partial transfer is continued
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;  ///< bytes of all pieces
  std::int64_t result = 0;  ///< when it has ended: bytes moved (fewer than `bytes` at the end of the file), or -errno
  std::uint64_t moved = 0;  ///< bytes moved by parts of it that have ended
  Call* call = nullptr;     ///< for the storage's own use, like the following
  std::uint32_t first_record = 0, records = 0;
};

/// Transfers bytes asynchronously. Used by one thread.
class Device {
 public:
  virtual ~Device() = default;
  /// Accepts a transfer, which belongs to the device until it has ended. Returns false if the maximum number of
  /// transfers is pending.
  virtual bool begin(Transfer& transfer) = 0;
  /// Submits all transfers that began.
  virtual void submit() = 0;
  /// Appends ended transfers to `ended`. `wait`: waits for at least one if any is pending. REQUIRES: room for all that
  /// are pending.
  virtual void collect(std::vector<Transfer*>& ended, bool wait) = 0;
};

/// Returns a device on io_uring. Returns null and sets `why_not` if the system has no io_uring or refuses it, or this
/// build has no liburing. Ended transfers make `event`, an eventfd, readable. `depth`: maximum number of pending
/// transfers.
std::unique_ptr<Device> uring_device(int event, std::uint32_t depth, std::string& why_not);
/// Returns a device on threads, each of which runs one blocking transfer at a time.
std::unique_ptr<Device> thread_device(int event, std::uint32_t depth, std::uint32_t threads);

/// Adds `moved` bytes to a transfer's progress. Returns true if a part remains to be transferred.
bool goes_on(Transfer& transfer, std::uint64_t moved);

}  // namespace canopy::slots
