#pragma once

#include <canopy/attach/blocks.h>
#include <canopy/feed/writer.h>

#include <array>

namespace canopy::attach {

/// The feed's nodes over the blocks of events. A node is a run of blocks in which each is the only child of the one
/// before, and all are in the same groups. So the nodes follow from the blocks alone, whatever the order in which
/// events came.
///
/// It tells a feed what changes. It never changes a block but for Block::run, and Block::groups in set_groups().
class Runs {
 public:
  Runs(Blocks& blocks, Units page_size) : blocks_(blocks), page_size_(page_size) {}

  /// Where changes are told; null: nowhere. REQUIRES: it lives until it is replaced.
  void tell(FeedWriter* feed) { feed_ = feed; }

  /// Blocks from `head` down to `tail`, in no run so far, each the only child of the one before, become one.
  void add(std::uint32_t head, std::uint32_t tail, std::uint32_t count, Tick tick);
  /// The block begins a run: because it has siblings now.
  void cut(std::uint32_t block);
  /// The block continues its parent's run, if it can: because it has no siblings any more.
  void join(std::uint32_t block);
  void set_groups(std::uint32_t block, std::uint8_t groups);
  /// The end of a run, from the block on, leaves. The blocks are still there. REQUIRES: the tail has no children.
  void remove(std::uint32_t block);
  /// All runs leave.
  void clear();
  /// Nothing is told of what follows, until it may be again: the tree is then told anew.
  void hush(bool hushed) { hushed_ = hushed; }

  std::uint32_t head_of(std::uint32_t block) const { return runs_[blocks_[block].run].head; }
  /// What the feed was told last of the groups of a block.
  std::uint8_t groups_of(std::uint32_t block) const { return runs_[blocks_[block].run].groups; }
  std::size_t count() const { return count_; }
  /// Blocks of all runs, by group.
  const std::array<std::uint64_t, kMaxGroups>& sums() const { return sums_; }
  /// Tells of every run, parents first; a run takes the namespace of the run above it. To readers that know some of
  /// them tell_cleared() first.
  void tell_all(Tick tick);
  void tell_cleared();

 private:
  /// `id` is the node's. A run's number is not its slot, so that a cut may give either part the number: it writes the
  /// number into the smaller part's blocks.
  struct Run {
    NodeId id{};
    std::uint32_t head = 0, tail = 0, count = 0;
    std::uint8_t groups = 0;
  };

  bool tells() const { return feed_ != nullptr && feed_->on() && !hushed_; }
  Units units(std::uint32_t blocks) const { return blocks * page_size_; }
  std::uint32_t new_run();
  NodeId new_id();
  void free_run(std::uint32_t run);
  void label(std::uint32_t from, std::uint32_t count, bool down, std::uint32_t run);
  void tell_of(const Run& run, Tick tick);
  void count_in(const Run& run, bool in);

  Blocks& blocks_;
  Units page_size_;
  FeedWriter* feed_ = nullptr;
  bool hushed_ = false;
  std::vector<Run> runs_ = std::vector<Run>(1);
  std::vector<std::uint32_t> free_runs_, free_slots_;
  std::vector<std::uint32_t> lives_{0};  ///< by slot
  std::size_t count_ = 0;
  std::array<std::uint64_t, kMaxGroups> sums_{};
  std::vector<std::uint32_t> words_;  ///< of the run that is being told; a member for its memory
};

}  // namespace canopy::attach
