#pragma once

#include <bridge/blocks.h>
#include <canopy/feed/writer.h>

#include <array>

namespace canopy::bridge {

/// The feed's nodes over the blocks of events. A node is a run of blocks in which each is the only child of the one
/// before, and all are in the same groups. So the nodes depend only on the blocks, not on the order of the events.
///
/// Sends changes to a feed. Of a block it changes only `run`, and `groups` in set_groups().
class Runs {
 public:
  Runs(Blocks& blocks, Units page_size) : blocks_(blocks), page_size_(page_size) {}

  /// Sets the feed that changes are sent to. May be null (no feed). REQUIRES: it lives until it is replaced.
  void send_to(FeedWriter* feed) { feed_ = feed; }

  /// Makes a run of the blocks from `head` down to `tail`. REQUIRES: they are in no run, each the only child of the one
  /// before.
  void add(std::uint32_t head, std::uint32_t tail, std::uint32_t count, Tick tick);
  /// Lets the block begin a run, because it has siblings now.
  void cut(std::uint32_t block);
  /// Lets the block continue its parent's run, if it can, because it no longer has siblings.
  void join(std::uint32_t block);
  void set_groups(std::uint32_t block, std::uint8_t groups);
  /// Removes the end of a run, from the block on, but not the blocks. REQUIRES: the tail has no children.
  void remove(std::uint32_t block);
  /// Removes all runs.
  void clear();
  /// Suspends feed output. After resuming, call send_cleared() and send_all().
  void suspend(bool suspended) { suspended_ = suspended; }

  std::uint32_t head_of(std::uint32_t block) const { return runs_[blocks_[block].run].head; }
  /// Returns the groups of a block that were sent last.
  std::uint8_t groups_of(std::uint32_t block) const { return runs_[blocks_[block].run].groups; }
  std::size_t count() const { return count_; }
  /// Returns the blocks of all runs, by group.
  const std::array<std::uint64_t, kMaxGroups>& sums() const { return sums_; }
  /// Sends every run, parents first; a run takes the namespace of the run above it. For readers that know some of them,
  /// call send_cleared() first.
  void send_all(Tick tick);
  void send_cleared();

 private:
  /// A run's number is not the slot of its node, so that a cut may give either part a new number: it writes it into the
  /// blocks of the smaller part.
  struct Run {
    NodeId id{};
    std::uint32_t head = 0, tail = 0, count = 0;
    std::uint8_t groups = 0;
  };

  bool sends() const { return feed_ != nullptr && feed_->on() && !suspended_; }
  Units units(std::uint32_t blocks) const { return blocks * page_size_; }
  std::uint32_t new_run();
  NodeId new_id();
  void free_run(std::uint32_t run);
  void label(std::uint32_t from, std::uint32_t count, bool down, std::uint32_t run);
  void send(const Run& run, Tick tick);
  void send_digests(const Run& run);
  void count_in(const Run& run, bool in);

  Blocks& blocks_;
  Units page_size_;
  FeedWriter* feed_ = nullptr;
  bool suspended_ = false;
  std::vector<Run> runs_ = std::vector<Run>(1);
  std::vector<std::uint32_t> free_runs_, free_slots_;
  std::vector<std::uint32_t> lives_{0};  ///< Nodes that a slot has had so far, by slot.
  std::size_t count_ = 0;
  std::array<std::uint64_t, kMaxGroups> sums_{};
  std::vector<std::uint32_t> words_;    ///< Words of the run that is sent; a member for its memory.
  std::vector<std::uint64_t> digests_;  ///< Likewise of its blocks.
};

}  // namespace canopy::bridge
