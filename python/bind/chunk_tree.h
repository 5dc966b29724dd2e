#pragma once

#include <canopy/prefix_index.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "rank_queue.h"

namespace canopy {
class Options;
}

namespace canopy::python {

/// The chunks of a cache whose keys are chained hashes, such as the CPU tier of vLLM: each chunk is a node below the
/// chunk before it. Its caller finds chunks by their keys, so nothing here reads tokens; the functions of PrefixIndex
/// that take a key find nothing and keep nothing. What it is for:
///
///  - Order of eviction. A chunk leaves after all chunks that continue it, in the order of an EvictionStrategy, and
///    exactly as many chunks leave as are asked for.
///  - Pins. A chunk that is being copied stays, and so do the chunks before it.
///  - The feed: each chunk is a node of one page.
///
/// Recency is the tick of the last request that used a chunk. A policy that throws is not called again: the order is
/// that of lru from then on, and failure() has the message.
class ChunkTree final : public PrefixIndex {
 public:
  using Slot = std::uint32_t;  ///< a chunk; 0: none

  struct Config {
    void visit(Options&) {}
  };
  /// REQUIRES: one group, and a policy.
  ChunkTree(const Config& config, const Context& context);

  struct Added {
    Slot parent = 0;  ///< 0: the chunk before it is not here
    Units begin = 0;  ///< depth at which the chunk starts, in tokens
    NamespaceId space{};
    Page page = 0;
    Tick tick = 0;            ///< recency
    std::uint64_t print = 0;  ///< hash of all tokens up to the end of the chunk
    bool pinned = false;
  };
  Slot add(const Added& chunk);
  /// Puts a chunk whose parent was not here below `parent`. REQUIRES: it has no parent.
  void adopt(Slot parent, Slot child);
  /// Takes a chunk from its parent, if it has one.
  void part(Slot child);
  /// Takes the chunks that cannot leave from their parent.
  void part_stuck(Slot parent);
  /// Removes a chunk whose bytes never came. Returns the chunks that continue it: they stay, without a parent.
  std::vector<Slot> remove(Slot slot);
  void pin(Slot slot);
  void unpin(Slot slot);

  NodeId id(Slot slot) const { return NodeId{std::uint64_t{nodes_[slot].life} << 32 | slot}; }
  Slot parent(Slot slot) const { return nodes_[slot].parent; }
  Page page(Slot slot) const { return nodes_[slot].page; }
  /// Returns true if a chunk starts at this depth and has this hash.
  bool is(Slot slot, Units begin, std::uint64_t print) const {
    return nodes_[slot].begin == begin && nodes_[slot].print == print;
  }
  bool pinned(Slot slot) const { return nodes_[slot].pinned; }
  Tick created(Slot slot) const { return nodes_[slot].created; }
  Tick last_access(Slot slot) const { return nodes_[slot].last_access; }
  std::uint64_t size() const { return resident_; }
  /// Returns the number of chunks that evictions could remove one after the other.
  std::uint64_t movable() const { return movable_; }

  /// Advances the clock and returns the new time.
  Tick tick() { return ++now_; }
  /// Passes a request to the policy that is about to use the tree. `request`: without prints, which are not known yet.
  void arrived(RequestFacts request);
  /// Makes a chunk as recent as `tick`, if it is not more recent.
  void touch(Slot slot, Tick tick);
  /// The use that a request made of a chunk of its prompt.
  enum class Use : std::uint8_t {
    none,    ///< nothing here: the server had it above this tier
    stored,  ///< it brought the chunk
    hit,     ///< it found the chunk
  };
  /// Ends a request. `path`: the resident chunks of its prompt, first to last, and what it did with each; those that it
  /// used become as recent as `tick`.
  void ended(RequestFacts request, std::span<const Slot> path, std::span<const Use> uses, Tick tick);

  /// Begins an eviction: ranks drift, chunks of `stay` cannot leave until end_eviction().
  void begin_eviction(std::span<const Slot> stay);
  /// Evicts one chunk. REQUIRES: between begin_eviction() and end_eviction(); movable() > 0.
  Slot evict_one();
  void end_eviction();

  const std::string& failure() const { return failure_; }

  /// Sends the whole tree to the feed if a chunk has another parent than when it was sent, or has lost it: the feed has
  /// no event for that. Call it at the end of each operation, so that an operation with many such chunks sends it once.
  void report_moves();

  // ---- PrefixIndex ----
  Probe peek(const Key&) const override { return {}; }
  Lock match(const Key&, const RequestFacts&) override { return {}; }
  Found find(const Key&) override { return {}; }
  Lock hold(NodeId, const RequestFacts*) override { return {}; }
  GroupPages pages(const Lock&, Units) override { return {}; }
  GroupPages pages(NodeId, Units) override { return {}; }
  Inserted insert(const Lock& lock, const Key&, const GroupPages&, InsertFacts) override {
    Inserted none;
    none.lock = lock;
    return none;
  }
  void relax(Lock&, std::size_t, Units) override {}
  GroupPages release(const Lock&, const RequestFacts*) override { return {}; }
  GroupPages evict(std::size_t, std::size_t, Cause, LeavingVisitor*) override { return {}; }
  GroupPages clear() override;
  Sizes sizes(std::size_t) const override;
  Sizes sizes(std::size_t group, NamespaceId) const override { return sizes(group); }
  IndexUse use() const override;
  Tick now() const override { return now_; }
  void set_capacity(std::size_t, std::uint64_t units) override { capacity_ = units; }
  bool use_policy(std::size_t, EvictionStrategy* policy) override;
  void waiting(std::size_t, QueueVisitor& visitor) const override;
  void visit(NodeVisitor& visitor) const override;

 private:
  struct Node {
    Slot parent = 0, child = 0, next = 0, before = 0;  ///< first child; siblings
    std::uint32_t life = 0;
    Units begin = 0;
    NamespaceId space{};
    Page page = 0;
    std::uint32_t hits = 0, inserts = 0, children = 0;
    std::uint32_t stuck = 0;  ///< children that cannot leave
    bool here = false, pinned = false, stays = false;
    Tick created = 0, last_access = 0, spared = 0;
    std::uint64_t tag = 0, print = 0;
    bool held() const { return pinned || stays; }
    bool can_leave() const { return !held() && stuck == 0; }
  };
  class Climb;

  NodeFacts facts(Slot slot, const PolicyClock& clock) const;
  NodeFacts facts(Slot slot) const { return facts(slot, clock()); }
  PolicyClock clock() const;
  template <class Call>
  void guarded(Call&& call) noexcept;
  Rank rank(Slot slot);
  void rank_all();
  void requeue(Slot slot);
  /// Counts a change of can_leave() of a node, and of those above it.
  void freed(Slot slot);
  void blocked(Slot slot);
  void attach(Slot slot, Slot parent);
  void detach(Slot slot);
  void drop(Slot slot);
  std::span<const std::uint64_t> prints_of(Slot slot);
  void report_added(Slot slot) const;
  void report_facts(Slot slot) const;
  void report_rank(const RankQueue::Entry& entry) const;
  const std::uint32_t* words_of(Slot slot) const;
  template <class Each, class Left>
  void each(Each&& each, Left&& left) const;

  const Units page_;
  EvictionStrategy* policy_;
  IndexEvents* events_;
  std::uint64_t capacity_;
  Tick now_ = 0;
  std::uint64_t allocated_ = 0, ranked_at_ = 0;  ///< units
  std::uint64_t resident_ = 0, movable_ = 0;
  bool moved_ = false;  ///< true if readers of the feed have a chunk below another parent
  std::vector<Node> nodes_;
  std::vector<Slot> free_, stay_;
  RankQueue queue_;
  std::string failure_;
  std::vector<std::uint64_t> prints_;
  Slot printed_ = 0;  ///< the chunk to whose end prints_ goes
  mutable std::vector<std::uint32_t> words_;
};

/// Returns the print of a stride of 512 tokens that ends in a chunk with this print.
constexpr std::uint64_t stride_print(std::uint64_t chunk, std::size_t stride) {
  return chunk ^ (stride + 1) * 0x9e3779b97f4a7c15;
}
/// Returns the number of the chunk in which a stride ends.
constexpr std::size_t chunk_of_stride(std::size_t stride, Units page) {
  return ((stride + 1) * kPrintStride + page - 1) / page - 1;
}

}  // namespace canopy::python
