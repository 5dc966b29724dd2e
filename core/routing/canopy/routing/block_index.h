#pragma once

#include <canopy/routing/flat_table.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace canopy::routing {

/// Where a worker has a block.
enum class Tier : std::uint8_t { device, host, storage };
inline constexpr std::size_t kTiers = 3;
inline constexpr const char* kTierNames[kTiers] = {"device", "host", "storage"};

inline constexpr std::size_t kMostWorkers = 64;

/// The name of a prefix of whole blocks: XXH3 over the tokens of each block, seeded with the name of what is before it.
/// Two of n different prefixes have one name with odds of n^2 / 2^65: one in 37 million for a million blocks.
using Name = std::uint64_t;
/// The name of no block: `adapter` and `salt` keep prompts apart that may not share a prefix.
Name root_of(std::string_view adapter = {}, std::string_view salt = {});
/// The name of the prefix that ends with the block. REQUIRES: not empty.
Name next_name(Name before, std::span<const Token> block);

/// Blocks of a prompt's longest unbroken prefix that a worker has, each counted in the best tier that has it.
struct Overlap {
  std::array<std::uint32_t, kTiers> blocks{};
  std::uint32_t total() const { return blocks[0] + blocks[1] + blocks[2]; }
  friend bool operator==(const Overlap&, const Overlap&) = default;
};

/// Which blocks each of several workers has, by tier. Workers name their blocks in ways of their own; the index maps
/// each worker's hashes to names from tokens, so that one question is answered for all. A block is there or not: told
/// twice, it is there once, and one removal takes it away, as vLLM means it when it repeats what it has.
///
/// One writer. find() may run in other threads while nothing is written.
class BlockIndex {
 public:
  /// REQUIRES: block_tokens from 1; workers from 1 to kMostWorkers. `expected`: blocks for which there is room from the
  /// start; to grow costs the time of a copy. `secret`: see FlatTable; no answer depends on it.
  BlockIndex(std::uint32_t block_tokens, std::size_t workers, std::size_t expected, std::uint64_t secret);

  std::uint32_t block_tokens() const { return block_tokens_; }
  std::size_t workers() const { return known_.size(); }

  /// The name of a block that the worker calls `hash`; 0: it has none.
  Name name_of(std::size_t worker, std::uint64_t hash) const;
  /// Asks for the memory in which a worker's hash lies, or a block's name: for a call that comes soon.
  void prefetch_hash(std::size_t worker, std::uint64_t hash) const;
  void prefetch_name(Name name) const { blocks_.prefetch(name); }
  /// The worker has the block `name`, which it calls `hash`, in a tier.
  void store(std::size_t worker, Tier tier, std::uint64_t hash, Name name);
  /// False: the worker has no such block in the tier.
  bool remove(std::size_t worker, Tier tier, std::uint64_t hash);
  /// The worker has nothing any more.
  void clear(std::size_t worker);
  /// The worker has nothing in the tier any more.
  void clear(std::size_t worker, Tier tier);

  /// Memory of find() that is used again.
  struct Scratch {
    std::vector<Name> names;
  };
  /// What each worker has of a prompt that begins at a root. REQUIRES: `found` has a place for each worker.
  void find(std::span<const Token> prompt, Name root, std::span<Overlap> found, Scratch& scratch) const;

  std::size_t blocks() const { return blocks_.size(); }  ///< different ones
  /// Different blocks of a worker.
  std::size_t blocks(std::size_t worker) const { return counts_[worker]; }
  std::size_t bytes() const;

 private:
  /// Half a line of memory, on a boundary of its own size.
  struct alignas(32) Block {
    std::uint64_t key = 0;                        ///< its name
    std::array<std::uint64_t, kTiers> workers{};  ///< bit w: worker w has it in the tier
    std::uint64_t any() const { return workers[0] | workers[1] | workers[2]; }
  };
  struct Known {
    std::uint64_t key = 0;  ///< the worker's hash
    Name name = 0;
  };

  std::uint32_t block_tokens_;
  FlatTable<Block> blocks_;
  std::vector<FlatTable<Known>> known_;  ///< by worker
  std::vector<std::size_t> counts_;
};

}  // namespace canopy::routing
