#pragma once

#include <canopy/routing/block_index.h>
#include <canopy/wire/event.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace canopy::routing {

/// The tier that a medium is, by the names of vLLM (GPU, CPU, STORAGE) and SGLang (GPU, CPU_PINNED, DISK, EXTERNAL);
/// empty, as releases without media send it, is the device. Nothing: another medium.
std::optional<Tier> tier_of(std::string_view medium);

/// What came, in blocks where nothing else is said, and what could not be placed.
struct IntakeCounts {
  std::uint64_t stored = 0, removed = 0, clears = 0;
  std::uint64_t unknown_parents = 0;  ///< stored behind a block that is not known: their prefix is not known either
  std::uint64_t unknown_removed = 0;  ///< removed, and not known
  std::uint64_t other_sizes = 0;      ///< not of the index's block size
  std::uint64_t other_groups = 0;     ///< of groups that are not full attention, which say nothing about a prefix
  std::uint64_t extra_keys = 0;       ///< stand for more than tokens, such as images: tokens do not find them
  std::uint64_t no_tokens = 0;        ///< the event's tokens are not those of its blocks
  std::uint64_t other_media = 0;      ///< in a medium that this version does not know

  void add(const IntakeCounts& other);
  /// Stored blocks that the index does not have because of one of these.
  std::uint64_t left_out() const {
    return unknown_parents + other_sizes + other_groups + extra_keys + no_tokens + other_media;
  }
};

/// Brings one worker's events into an index, in the order in which the worker sent them. Blocks of an adapter or with a
/// salt begin at a root of their own. Of the pairs that SGLang sends under EAGLE, the first tokens count.
class EventIntake {
 public:
  /// REQUIRES: the index outlives it and has such a worker.
  EventIntake(BlockIndex& index, std::size_t worker) : index_(index), worker_(worker) {}

  void take(const wire::EventBatch& batch);
  /// The worker began again, or what it holds is not known any more.
  void restart();
  const IntakeCounts& counts() const { return counts_; }

 private:
  void store(const wire::EventBatch& batch, const wire::Event& event);
  void remove(const wire::EventBatch& batch, const wire::Event& event);
  /// Names of the event's blocks into names_. False: they cannot be named, which is counted.
  bool name(const wire::EventBatch& batch, const wire::Event& event);

  /// A block that is to be stored or removed. A batch's are carried out together, so that the memory of each is on its
  /// way while others are worked on.
  struct Change {
    std::uint64_t hash = 0;
    Name name = 0;  ///< 0: it is removed
    Tier tier{};
  };
  /// The name of a block that the worker told of before, in an earlier event of the batch perhaps; 0: none.
  Name name_of(std::uint64_t hash);
  void carry_out();

  BlockIndex& index_;
  std::size_t worker_;
  std::vector<Change> changes_;
  IntakeCounts counts_;
  std::set<std::int64_t> other_groups_;  ///< numbers of groups that are not full attention; removals tell no kind
  std::vector<Name> names_;
  std::vector<Token> firsts_;  ///< of pairs
};

}  // namespace canopy::routing
