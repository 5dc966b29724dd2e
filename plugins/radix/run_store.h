#pragma once

#include "mapping.h"

#include <array>
#include <cstdint>

namespace canopy::radix {

/// Storage for runs: blocks of 32-bit words, addressed by number, which shrink from their end and are freed in any
/// order. Two-level segregated free lists over boundary tags (Masmano et al., TLSF, 2004): allocate, shrink and free
/// are O(1), and free neighbours merge at once. If free blocks have more memory than a share of what is in use, the
/// store returns it to the system: fragments cost addresses, not memory.
class RunStore {
 public:
  using Block = std::uint32_t;  ///< 0 is no block

  /// `keep_free`: memory that free blocks may keep, in percent of the memory in use. `ahead`: words whose memory is
  /// taken now. `keep`: words whose memory stays once it is taken, whatever `keep_free` is. If the system has less
  /// memory than `ahead`, memory is taken when it is first used, and only `keep_free` applies.
  RunStore(std::uint64_t keep_free, std::uint64_t ahead, std::uint64_t keep);

  /// Returns a block with room for `words`; 0 if the system has no memory.
  Block allocate(std::uint64_t words);
  /// Keeps the first `words` of the block. REQUIRES: it holds at least `words`.
  void shrink(Block block, std::uint64_t words);
  void free(Block block);
  std::uint32_t* at(Block block) { return words_at(block) + kHeaderWords; }
  const std::uint32_t* at(Block block) const { return const_cast<RunStore*>(this)->at(block); }
  std::size_t resident() const { return memory_.resident(); }

 private:
  // A granule is 16 bytes. A block starts with its size in granules (top bit: free) and, if the block in front of it is
  // free, the size of that block. A free block also has its links in a list and the number of its granules that are in
  // memory.
  static constexpr std::uint32_t kGranuleWords = 4;
  static constexpr std::uint32_t kHeaderWords = 2;
  static constexpr std::uint32_t kFree = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kLeastGranules = 2;
  struct Header {
    std::uint32_t size, before, next, prev, resident;
  };

  std::uint32_t* words_at(Block block) {
    return reinterpret_cast<std::uint32_t*>(memory_.base()) + std::size_t{block} * kGranuleWords;
  }
  Header& header(Block block) { return *reinterpret_cast<Header*>(words_at(block)); }
  static std::uint32_t granules(std::uint64_t words);
  static std::uint32_t bin_of(std::uint32_t size);
  Block take(std::uint32_t size);
  void link(Block block, std::uint32_t size, std::uint32_t resident);
  /// Takes a free block out of its list. Returns the granules of it that are in memory.
  std::uint32_t unlink(Block block);
  void release(Block block, std::uint32_t size, std::uint32_t resident);
  void give_back();
  void trim_end();
  std::uint64_t may_keep() const;

  Mapping memory_;
  std::uint64_t keep_free_, keep_granules_;
  Block end_ = 1;  ///< granules handed out so far; block 0 is never used
  std::array<Block, 512> bins_{};
  std::array<std::uint64_t, 8> filled_{};
  std::uint64_t free_granules_ = 0;   ///< granules in the lists
  std::uint64_t kept_granules_ = 0;   ///< granules in the lists that are in memory
  std::uint64_t stuck_granules_ = 0;  ///< kept_granules_ if the last give_back() returned too little; otherwise 0
};

}  // namespace canopy::radix
