#pragma once

#include <canopy/attach/blocks.h>
#include <canopy/attach/common.h>
#include <canopy/attach/runs.h>

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace canopy::attach {

/// The prefix trees of workers, from what their events store and remove, told to a feed as nodes.
///
/// A block whose parent is not known hangs below nothing, in a namespace that says so, until its parent comes. A block
/// that was stored several times stays until it was removed as often. No function recurses, and none trusts an order:
/// whatever events come, they leave a tree.
class Tree {
 public:
  struct Options {
    Units page_size = 1;       ///< tokens of a block
    bool keep_tokens = false;  ///< so that the feed can carry them
    /// vLLM's kv_cache_report_mode=full repeats the stored events of reused blocks: a block that is stored again is
    /// then no second copy of it.
    bool repeats_are_reports = false;
    std::size_t most_blocks = Blocks::kMost;  ///< of all workers; those beyond are left out and counted
  };
  explicit Tree(const Options& options);
  void tell(FeedWriter* feed) { runs_.tell(feed); }

  /// A run of blocks that a worker has in a group from now on, each the parent of the next.
  struct Stored {
    std::uint16_t worker = 0;
    std::uint8_t group = 0;
    std::optional<std::uint64_t> parent;  ///< hash of the block before the first; nothing: it is the first of a prompt
    std::uint32_t space = 0;              ///< of a prompt's first block. The others have their parent's
    std::uint32_t unknown_space = 0;      ///< of blocks whose parent is not known
    std::uint64_t root = 0;               ///< what a prompt's name begins with: of its namespace, for all workers alike
    std::span<const std::uint64_t> hashes;
    std::span<const Token> tokens;         ///< page_size for each hash; none: which blocks these are is not known
    std::span<const std::uint64_t> extra;  ///< for each hash what else its name depends on; or none
  };
  void store(const Stored& stored, Tick tick);
  void remove(std::uint16_t worker, std::uint8_t group, std::span<const std::uint64_t> hashes);
  /// A worker has nothing any more.
  void clear(std::uint16_t worker);

  /// Whether the parent of an orphan has come.
  bool can_mend() const { return can_mend_; }
  /// Hangs orphans below their parents and tells of the whole tree anew, since no event of a feed moves a node. Costs
  /// as much as the tree is large.
  void mend(Tick tick);
  /// Tells of everything, as part of a keyframe.
  void tell_all(Tick tick) { runs_.tell_all(tick); }

  const Blocks& blocks() const { return blocks_; }
  const Runs& runs() const { return runs_; }
  const Common& common() const { return common_; }
  std::uint64_t blocks_of(std::uint16_t worker) const { return common_.blocks_of(worker); }

  struct Counts {
    std::uint64_t unknown_parents = 0;  ///< times that a block's parent was not known
    std::uint64_t unknown_removed = 0;  ///< blocks removed that were not known
    std::uint64_t left_out = 0;         ///< blocks for which there was no room
  };
  const Counts& counts() const { return counts_; }
  std::uint64_t copies() const { return copies_; }         ///< of blocks, beyond the first in its group
  std::size_t orphans() const { return orphans_.size(); }  ///< blocks whose parent is not known
  std::uint64_t unplaced() const;                          ///< blocks that some group has, and no event said where

 private:
  /// What is known of a worker's hashes that are no blocks. Keys are mixed, since a publisher chooses the hashes.
  struct Loose {
    std::unordered_map<std::uint64_t, std::uint32_t> awaited;  ///< parents that are not known: orphans that wait
    std::unordered_map<std::uint64_t, std::uint8_t> unplaced;  ///< groups of blocks whose place is not known
  };

  std::uint32_t known_or_new(const Stored& stored, std::size_t i, std::uint32_t before, bool& is_new);
  void store_again(std::uint32_t block, std::uint8_t group);
  void place(std::uint32_t block, std::uint32_t parent);
  void make_orphan(std::uint32_t block, std::uint64_t parent);
  void end_orphan(std::uint32_t block);
  void settle(std::span<const std::uint32_t> changed);
  void prune(std::uint32_t leaf);
  void set_groups(std::uint32_t block, std::uint8_t groups);
  std::uint32_t root_of(std::uint32_t block) const;
  Loose& loose(std::uint16_t worker);
  std::uint64_t mixed(std::uint64_t hash) const;
  static std::uint64_t copy_of(std::uint32_t block, std::uint8_t group) {
    return std::uint64_t{block} * kMaxGroups + group;
  }

  Options options_;
  Blocks blocks_;
  Runs runs_;
  Common common_;
  Counts counts_;
  std::uint64_t copies_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> more_copies_;  ///< by copy_of
  std::unordered_map<std::uint32_t, std::uint64_t> orphans_;      ///< block: its parent's hash
  std::vector<Loose> loose_;                                      ///< by worker
  std::uint64_t secret_ = 0;
  bool can_mend_ = false;
  std::vector<std::uint32_t> changed_;  ///< by a removal; a member for its memory
};

}  // namespace canopy::attach
