#pragma once

#include <canopy/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace canopy::bridge {

/// A block of a worker: its place below its parent, and the groups that have it. A block that no group has stays while
/// there are blocks below it: servers evict blocks in any order.
struct Block {
  std::uint64_t hash = 0;  ///< kv_events::BlockHash::value.
  std::uint64_t name = 0;  ///< Name of the whole prefix, the same for all workers; until is_named, of the block alone.
  std::uint32_t parent = 0, first_child = 0, next = 0, prev = 0;  ///< Slots. 0: none.
  std::uint32_t run = 0;                                          ///< Number of its run (runs.h). 0: none yet.
  std::uint32_t space = 0;                                        ///< NamespaceId.
  std::uint16_t worker = 0;
  std::uint8_t groups = 0;  ///< Bit g: group g has it.
  bool used = false;        ///< The slot has a block.
  bool is_named = false;    ///< All blocks before it are known.
};

/// Blocks by slot and by (worker, hash). Memory is proportional to the most blocks at a time: about 100 bytes each, and
/// their tokens if they are kept.
class Blocks {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 26;

  /// Makes an empty table. `words`: tokens to keep of each block; 0 keeps none. `most`: the limit of blocks at a time.
  explicit Blocks(Units words, std::size_t most = kMost);

  Block& operator[](std::uint32_t slot) { return blocks_[slot]; }
  const Block& operator[](std::uint32_t slot) const { return blocks_[slot]; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(blocks_.size()); }
  std::size_t count() const { return blocks_.size() - 1 - free_.size(); }
  /// Returns the slot of a worker's block. 0: it is not known.
  std::uint32_t find(std::uint16_t worker, std::uint64_t hash) const;

  /// Returns a new block without a place. 0: there is no room. REQUIRES: the worker's hash is not known.
  std::uint32_t add(std::uint16_t worker, std::uint64_t hash, std::span<const Token> tokens);
  /// Puts a block without a parent below another.
  void link(std::uint32_t slot, std::uint32_t parent);
  /// Removes a block. REQUIRES: it has no children.
  void erase(std::uint32_t slot);
  /// Removes all blocks.
  void clear();

  /// Calls visit(slot) for each block of a worker, in no particular order.
  template <class Visit>
  void each_of(std::uint16_t worker, Visit&& visit) const {
    if (worker < by_hash_.size())
      for (const auto& [hash, slot] : by_hash_[worker]) visit(slot);
  }
  bool is_only_child(std::uint32_t slot) const {
    const Block& block = blocks_[slot];
    return block.parent != 0 && block.next == 0 && block.prev == 0;
  }
  /// REQUIRES: tokens are kept.
  std::span<const std::uint32_t> tokens(std::uint32_t slot) const {
    return std::span(tokens_).subspan(std::size_t{slot} * words_, words_);
  }
  bool keeps_tokens() const { return words_ != 0; }

 private:
  /// A publisher chooses the hashes; a key that it does not know keeps them from falling into one bucket.
  struct Mixed {
    std::uint64_t key;
    std::size_t operator()(std::uint64_t hash) const;
  };
  using ByHash = std::unordered_map<std::uint64_t, std::uint32_t, Mixed>;

  Units words_;
  std::size_t most_;
  Mixed mixed_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> tokens_;  ///< words_ for each slot.
  std::vector<ByHash> by_hash_;        ///< By worker.
};

}  // namespace canopy::bridge
