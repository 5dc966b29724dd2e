#pragma once

#include <canopy/types.h>

#include <cstddef>
#include <cstdint>

namespace canopy::bench {

/// How the floor's memory and copies are made. The floor is the faster one with plain stores.
struct FloorStyle {
  bool huge_pages = false;  ///< ask the system for 2 MiB pages
  bool streaming = false;   ///< stores that go around the caches
};

/// Plain memory, faulted in, in which the least that an index must do is done: comparing what matches, copying
/// what is new. No search, no bookkeeping.
class FloorMemory {
 public:
  FloorMemory(std::size_t words, FloorStyle style);
  ~FloorMemory();
  FloorMemory(const FloorMemory&) = delete;
  FloorMemory& operator=(const FloorMemory&) = delete;

  /// Whether `count` words at `at` are those of `words`.
  bool compare(std::size_t at, const std::uint32_t* words, std::size_t count) const;
  void copy(std::size_t at, const std::uint32_t* words, std::size_t count);
  std::uint32_t operator[](std::size_t at) const { return words_[at]; }

 private:
  std::uint32_t* words_;
  std::size_t bytes_;
  bool streaming_;
};

/// Seconds of a read whose place the one before has told, of `count` places in no order, 128 bytes apart and cold:
/// about what a walk waits for that learns of each node from the one above it. An index whose nodes are smaller or keep
/// some order may be below it.
double seconds_of_a_read_in_a_row(std::size_t count);

/// Reads and writes as much memory as the last cache holds, so that what was touched before has to come from
/// further away again.
void make_cold();

}  // namespace canopy::bench
