#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace canopy::hash_chain {

/// A prefix of whole blocks: the words of its last block, after another prefix.
struct Prefix {
  std::uint64_t hash = 0;    ///< hash of its last words and of its parent's hash
  std::uint32_t parent = 0;  ///< slot; 0: it begins its namespace
  std::uint32_t next = 0;    ///< the next slot in the same bucket; in a free slot, the next free one
  std::uint32_t life = 0;    ///< life of the slot in NodeId: times the slot was used
  std::uint32_t depth = 0;   ///< depth in blocks, from 1; 0: the slot is free
  std::uint32_t children = 0;
  std::uint32_t likely = 0;  ///< the newest child, or a slot that was one: checked before the table
  Page first = 0, last = 0;  ///< its blocks, in the order they came (Block::twin); 0: none is left
  std::uint32_t hits = 0, inserts = 0;
  std::int32_t priority = 0;
  NamespaceId space{};
  Tick created = 0;
  std::uint64_t number = 0;  ///< number by age: a parent has a smaller one than its children
  std::uint64_t tag = 0;     ///< word of the policy
};

/// The prefixes that have a block, found by their parent and their last words. As in vLLM, a block is named by the hash
/// of its words and the hash of the block before. Unlike vLLM, the words are compared as well, so two prefixes are
/// never taken for one.
class Prefixes {
 public:
  /// `words`: words of a block, including those that its last unit looks ahead.
  explicit Prefixes(std::size_t words) : width_(words) { clear(); }

  /// Returns the slot, or 0. `parent`: a slot, or 0 for the first block of `space`.
  std::uint32_t find(std::uint32_t parent, NamespaceId space, std::span<const std::uint32_t> words) const;
  /// Makes room for `count` more. Throws std::bad_alloc, and nothing has changed.
  void reserve(std::size_t count);
  /// REQUIRES: it is not there, and reserve() made room.
  std::uint32_t add(std::uint32_t parent, NamespaceId space, std::span<const std::uint32_t> words);
  /// Removes a prefix without blocks and children, then its parents as far as they have none either.
  void prune(std::uint32_t slot);
  void clear();

  Prefix& operator[](std::uint32_t slot) { return prefixes_[slot]; }
  const Prefix& operator[](std::uint32_t slot) const { return prefixes_[slot]; }
  std::span<const std::uint32_t> words(std::uint32_t slot) const { return {words_.data() + slot * width_, width_}; }
  NodeId id(std::uint32_t slot) const {
    return slot == 0 ? NodeId::none : NodeId{std::uint64_t{prefixes_[slot].life} << 32 | slot};
  }
  /// Returns the slot of a prefix; 0 if it is gone.
  std::uint32_t slot(NodeId id) const {
    const std::uint32_t slot = slot_of(id);
    return slot != 0 && slot < prefixes_.size() && prefixes_[slot].depth && this->id(slot) == id ? slot : 0;
  }
  std::size_t slots() const { return prefixes_.size(); }  ///< slots in use or free, numbered from 1
  std::size_t count() const { return count_; }
  std::size_t bytes() const {
    return prefixes_.capacity() * sizeof(Prefix) + (words_.capacity() + buckets_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  std::uint64_t hash(std::uint32_t parent, NamespaceId space, std::span<const std::uint32_t> words) const;
  std::uint32_t& bucket(std::uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }

  std::size_t width_;
  std::vector<Prefix> prefixes_;
  std::vector<std::uint32_t> words_;    ///< `width_` for each slot
  std::vector<std::uint32_t> buckets_;  ///< the first slot of each; their number is a power of two
  std::uint32_t free_ = 0;
  std::size_t count_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace canopy::hash_chain
