#pragma once

#include <canopy/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace canopy::attach {

/// A block as events tell of it: its place below its parent, and the groups in which a worker has it now. A block that
/// no group has stays while blocks hang below it: servers evict blocks in any order.
struct Block {
  std::uint64_t hash = 0;  ///< wire::BlockHash::value
  std::uint64_t name =
      0;  ///< of the whole prefix, the same for all workers; 0: not known, a block before it is unknown
  std::uint32_t parent = 0, first_child = 0, next = 0, prev = 0;  ///< slots; 0 none
  std::uint32_t run = 0;                                          ///< whose node it is part of (runs.h); 0: of none yet
  std::uint32_t space = 0;                                        ///< NamespaceId
  std::uint16_t worker = 0;
  std::uint8_t groups = 0;  ///< bit g: group g has it
  bool used = false;        ///< the slot has a block
};

/// Blocks by slot and by (worker, hash). Memory grows with the blocks there are at a time: some 100 bytes each, and its
/// tokens where they are kept.
class Blocks {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 26;

  /// `words`: tokens to keep of each block; 0: none are kept. `most`: blocks there may be at a time.
  explicit Blocks(Units words, std::size_t most = kMost);

  Block& operator[](std::uint32_t slot) { return blocks_[slot]; }
  const Block& operator[](std::uint32_t slot) const { return blocks_[slot]; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(blocks_.size()); }
  std::size_t count() const { return blocks_.size() - 1 - free_.size(); }
  /// The slot of a worker's block; 0: it is not known.
  std::uint32_t find(std::uint16_t worker, std::uint64_t hash) const;

  /// A new block without a place; 0 if there is no room for it. REQUIRES: the worker's hash is not known.
  std::uint32_t add(std::uint16_t worker, std::uint64_t hash, std::span<const Token> tokens);
  /// Puts a block without a parent below another.
  void link(std::uint32_t slot, std::uint32_t parent);
  /// Takes a block without children out.
  void erase(std::uint32_t slot);
  /// Forgets all of them.
  void clear();

  /// visit(slot) of each block of a worker, in no particular order.
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
  /// A publisher chooses the hashes; a factor that it does not know keeps them from falling into one bucket.
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
  std::vector<std::uint32_t> tokens_;  ///< words_ for each slot
  std::vector<ByHash> by_hash_;        ///< by worker
};

}  // namespace canopy::attach
