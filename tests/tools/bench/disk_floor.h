#pragma once

#include <canopy/base/file.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace canopy::bench {

/// The least work to keep records of one size: moves bytes between memory and places 0, 1, ... of a file or of memory,
/// without any keys.
class RecordFloor {
 public:
  virtual ~RecordFloor() = default;
  /// Moves records[i] to place first + i and waits for the end. Returns false if the system refused. `get` does the
  /// reverse.
  virtual bool put(std::uint64_t first, std::span<std::byte* const> records) = 0;
  virtual bool get(std::uint64_t first, std::span<std::byte* const> records) = 0;
};

/// Uses memcpy.
std::unique_ptr<RecordFloor> memory_floor(std::uint64_t record_bytes, std::uint64_t records);
/// Uses pwrite and pread through the page cache.
std::unique_ptr<RecordFloor> page_cache_floor(const std::string& file, std::uint64_t record_bytes,
                                              std::uint64_t records);
/// Uses io_uring with O_DIRECT and pieces of at most 1 MiB, of which 32 are pending. Returns null if the system or this
/// build has no io_uring.
std::unique_ptr<RecordFloor> uring_floor(const std::string& file, std::uint64_t record_bytes, std::uint64_t records);

}  // namespace canopy::bench
