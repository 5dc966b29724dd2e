#pragma once

#include <bridge/blocks.h>
#include <bridge/common.h>
#include <bridge/runs.h>

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace canopy::bridge {

/// The prefix trees of workers, from the blocks that their events store and remove, sent to a feed as nodes.
///
/// A block whose parent is not known is a root in a namespace for such blocks until its parent comes. A block that was
/// stored n times stays until it was removed n times. No function recurses, and none depends on the order of events:
/// any events leave a tree.
class Tree {
 public:
  struct Options {
    Units page_size = 1;       ///< Tokens of a block.
    bool keep_tokens = false;  ///< Keeps the tokens of blocks, for a feed that carries them.
    /// A block that is stored again is no second copy: vLLM's kv_cache_report_mode=full repeats the stored events of
    /// reused blocks.
    bool repeats_are_reports = false;
    std::size_t most_blocks = Blocks::kMost;  ///< Limit over all workers. Blocks beyond it are counted, not kept.
  };
  explicit Tree(const Options& options);
  void send_to(FeedWriter* feed) { runs_.send_to(feed); }

  /// Blocks that a worker stored in a group, each the parent of the next.
  struct Stored {
    std::uint16_t worker = 0;
    std::uint8_t group = 0;
    std::optional<std::uint64_t> parent;  ///< Hash of the block before the first. Empty: it is the first of a prompt.
    std::uint32_t space = 0;              ///< Namespace of a prompt's first block. The others have their parent's.
    std::uint32_t unknown_space = 0;      ///< Namespace of blocks whose parent is not known.
    std::uint64_t root = 0;               ///< Seed of a prompt's names, the same for a namespace of any worker.
    std::span<const std::uint64_t> hashes;
    std::span<const Token> tokens;         ///< page_size for each hash. Empty: the blocks' place is not known.
    std::span<const std::uint64_t> extra;  ///< For each hash, a hash of its extra keys. May be empty (none).
  };
  void store(const Stored& stored, Tick tick);
  void remove(std::uint16_t worker, std::uint8_t group, std::span<const std::uint64_t> hashes);
  /// Removes all blocks of a worker.
  void clear(std::uint16_t worker);

  /// Returns true if the parent of an orphan is now known.
  bool can_mend() const { return can_mend_; }
  /// Puts orphans below their parents, names their prefixes, and sends the whole tree again, because no event of a feed
  /// moves a node. Takes time in proportion to the tree.
  void mend(Tick tick);
  /// Sends everything, as part of a keyframe.
  void send_all(Tick tick) { runs_.send_all(tick); }

  const Blocks& blocks() const { return blocks_; }
  const Runs& runs() const { return runs_; }
  const Common& common() const { return common_; }
  std::uint64_t blocks_of(std::uint16_t worker) const { return common_.blocks_of(worker); }

  struct Counts {
    std::uint64_t unknown_parents = 0;  ///< Times that a block's parent was not known.
    std::uint64_t unknown_removed = 0;  ///< Removed blocks that were not known.
    std::uint64_t left_out = 0;         ///< Blocks for which there was no room.
  };
  const Counts& counts() const { return counts_; }
  std::uint64_t copies() const { return copies_; }         ///< Copies of blocks, beyond the first in a group.
  std::size_t orphans() const { return orphans_.size(); }  ///< Blocks whose parent is not known.
  std::uint64_t unplaced() const;                          ///< Blocks of a group whose place no event has shown.

 private:
  /// A worker's hashes that are no blocks. Keys are mixed, because a publisher chooses the hashes.
  struct Loose {
    std::unordered_map<std::uint64_t, std::uint32_t> awaited;  ///< Orphans that wait, by the hash of their parent.
    std::unordered_map<std::uint64_t, std::uint8_t> unplaced;  ///< Groups of blocks whose place is not known.
  };

  std::uint32_t known_or_new(const Stored& stored, std::size_t i, std::uint32_t before, bool& is_new);
  void name(Block& block, std::uint64_t above);
  void name_from(std::uint32_t block);
  void count(const Block& block, bool more);
  void store_again(std::uint32_t block, std::uint8_t group);
  void place(std::uint32_t block, std::uint32_t parent);
  void make_orphan(std::uint32_t block, std::uint64_t parent);
  void end_orphan(std::uint32_t block);
  void remove_unheld(std::span<const std::uint32_t> changed);
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
  std::unordered_map<std::uint64_t, std::uint32_t> more_copies_;  ///< By copy_of().
  std::unordered_map<std::uint32_t, std::uint64_t> orphans_;      ///< The parent's hash, by block.
  std::vector<Loose> loose_;                                      ///< By worker.
  std::uint64_t secret_ = 0;
  bool can_mend_ = false;
  std::vector<std::uint32_t> changed_;  ///< Blocks that a removal has changed; a member for its memory.
};

}  // namespace canopy::bridge
