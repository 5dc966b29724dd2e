#pragma once

#include <canopy/types.h>

#include <cstddef>
#include <cstdint>

namespace canopy::bench {

/// Plain memory, faulted in, for the least work that an index must do: compare the words that match, copy the words
/// that are new. There is no search and no bookkeeping.
class FloorMemory {
 public:
  explicit FloorMemory(std::size_t words, bool huge_pages = false);
  ~FloorMemory();
  FloorMemory(const FloorMemory&) = delete;
  FloorMemory& operator=(const FloorMemory&) = delete;

  /// Returns true if the `count` words at `at` equal `words`.
  bool compare(std::size_t at, const std::uint32_t* words, std::size_t count) const;
  void copy(std::size_t at, const std::uint32_t* words, std::size_t count);
  std::uint32_t operator[](std::size_t at) const { return words_[at]; }

 private:
  std::uint32_t* words_;
  std::size_t bytes_;
};

/// Returns the latency of one step of a random pointer chase over `count` cold places, 128 bytes apart, in seconds: the
/// cost in a tree walk of a node that is found through its parent. An index with smaller nodes, or with nodes in some
/// order, may be faster.
double pointer_chase_latency(std::size_t count);

/// Reads and writes as much memory as the last-level cache holds, so that earlier data is no longer in a cache.
void make_cold();

}  // namespace canopy::bench
