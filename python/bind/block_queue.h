#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "chunk_session.h"

namespace canopy::python {

/// The free blocks of a pool of vLLM's, in the order of eviction of a policy. It has the functions of vLLM's
/// FreeKVCacheBlockQueue that vLLM's BlockPool calls, and takes its place. vLLM keeps the blocks, their hashes and
/// their reference counts. A free block is one of two:
///
///  - Spare: it has no content that a prompt could find. Spare blocks leave first, in vLLM's order.
///  - A node of a ChunkTree, which the policy ranks. A block of a group that is linked leaves after those that continue
///    it. Blocks of the other groups (windows, states) have no parent.
///
/// A block becomes a node when the first request that used it ends, or when it comes back to the queue. A node that is
/// in use is pinned. A pinned node has no free parent: the two are parted when the child is taken alone. So each free
/// block can leave, and vLLM's count of free blocks holds.
///
/// Each node has the tick at which its block came back, so `lru` is the order of vLLM's own queue.
///
/// An exception changes nothing that vLLM counts: after it, free() is true for the same blocks as before.
class BlockQueue {
 public:
  /// A KV cache group whose blocks are in the pool.
  struct Group {
    std::uint32_t number = 0;
    Units tokens = 0;     ///< the length of a block
    bool linked = false;  ///< each block continues the one before it
  };
  /// `blocks`: all blocks of the pool, by number. `free`: the free ones, in the order in which they leave.
  /// `hash_tokens`: the tokens of a hash of a request. `instead`: called with the text of an error; returns the queue
  /// that takes the place of this one. REQUIRES: a group.
  BlockQueue(nb::list blocks, nb::list free, std::vector<Group> groups, Units hash_tokens, nb::handle policy,
             const std::string& feed, nb::object instead);

  // ---- The functions of vLLM's queue ----
  std::size_t free_count() const { return free_count_; }
  nb::object popleft();
  nb::list popleft_n(std::size_t count);
  void remove(nb::handle block);
  void append_n(nb::handle blocks);
  void prepend_n(nb::handle blocks);
  /// Returns spare blocks as they leave, then nodes as lru would order them.
  nb::list all_free() const;

  // ---- Requests ----
  /// Begins a request of `prompt` tokens, and returns its number. `again`: its number, if it was preempted; or 0.
  std::uint64_t arrived(std::uint64_t again, std::uint32_t prompt);
  /// The length of a request, in tokens.
  struct Lengths {
    std::uint32_t prompt = 0;
    std::uint32_t tokens = 0;  ///< those of the prompt and of the answer so far
  };
  /// Ends a request whose blocks vLLM is about to free. `tables`: its blocks, one list for each group of this queue, in
  /// the order of its tokens. `hashes`: those of its tokens. `hit`: tokens that it found.
  void ended(std::uint64_t request, const Lengths& lengths, nb::handle tables, nb::handle hashes, std::uint32_t hit,
             Ending ending);
  /// Makes all free blocks spare, since vLLM has removed their hashes. REQUIRES: no block is in use.
  void reset();

  const std::string& policy() const { return session_.policy(); }
  const std::string& feed() const { return session_.feed(); }
  std::string take_failure() { return session_.take_failure(); }
  void poll();
  nb::dict facts() const;
  bool is_free(std::size_t number) const { return free_.at(number); }
  const nb::object& instead() const { return instead_; }
  /// Gives up the objects of Python. REQUIRES: nothing else is called afterwards.
  void let_go() { blocks_.reset(), instead_.reset(), session_.let_go(); }
  /// Calls visit(object) for each object of Python that the queue has, until a call returns another value than 0.
  /// Returns that value.
  template <class Visit>
  int each_object(Visit&& visit) const {
    for (const nb::handle object : {nb::handle(blocks_), nb::handle(instead_)})
      if (const int stop = visit(object)) return stop;
    return session_.each_object(visit);
  }

 private:
  using Slot = ChunkTree::Slot;
  using Number = std::uint32_t;
  class Items;

  ChunkTree& tree() const { return session_.tree(); }
  Number number_of(nb::handle block) const;
  void read(const Items& items);
  void erase(Number number);
  void end_operation(Operation operation);
  void follow(const Group& group, nb::handle table, std::uint32_t hit, Tick tick);
  void read_prints(const Group& group, nb::handle hashes, std::uint32_t prompt);

  nb::list blocks_;
  const std::vector<Group> groups_;
  const Units hash_tokens_;
  nb::object instead_;
  ChunkSession session_;
  std::size_t free_count_ = 0;
  std::vector<bool> free_;     ///< by number
  std::vector<Slot> slots_;    ///< by number: its node; 0: none
  std::vector<Number> spare_;  ///< the last one leaves first
  std::uint64_t last_request_ = 0;
  bool busy_ = false;
  // The lists below are those of one call.
  std::vector<Number> numbers_;
  std::vector<Slot> path_;
  std::vector<ChunkTree::Use> uses_;
  std::vector<std::uint64_t> prints_;
};

void bind_block_queue(nb::module_& module);

}  // namespace canopy::python
