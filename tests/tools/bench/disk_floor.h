#pragma once

#include <canopy/base/file.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace canopy::bench {

/// The least that must be done to keep records of one size: bytes move between memory and places 0, 1, ... of a file,
/// or of memory, without any keys.
class RecordFloor {
 public:
  virtual ~RecordFloor() = default;
  /// Moves records[i] to or from place first + i, and returns when that is done. False: the system refused.
  virtual bool put(std::uint64_t first, std::span<std::byte* const> records) = 0;
  virtual bool get(std::uint64_t first, std::span<std::byte* const> records) = 0;
};

/// memcpy.
std::unique_ptr<RecordFloor> memory_floor(std::uint64_t record_bytes, std::uint64_t records);
/// pwrite and pread through the page cache.
std::unique_ptr<RecordFloor> page_cache_floor(const std::string& file, std::uint64_t record_bytes,
                                              std::uint64_t records);
/// io_uring with O_DIRECT, pieces of at most 1 MiB, 32 of them on their way. Null: the system or this build has none.
std::unique_ptr<RecordFloor> uring_floor(const std::string& file, std::uint64_t record_bytes, std::uint64_t records);

}  // namespace canopy::bench
