#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace canopy::hash_chain {

/// One page of the pool that is in the index.
struct Block {
  std::uint32_t prefix = 0;    ///< slot of the prefix whose last words it stands for; 0: the page is not in the index
  std::uint32_t users = 0;     ///< locks that hold it; 0: it waits in the queue
  Page before = 0, after = 0;  ///< neighbours in the queue; 0: none
  Page twin = 0;               ///< the next block of the same prefix, in the order they came
  Tick freed = 0;              ///< time at which its last lock was released
};

/// The blocks by page number, and the queue of those that no lock holds: the one freed first is evicted first.
class Blocks {
 public:
  /// Makes room for pages up to `last`. Throws std::bad_alloc, and nothing has changed.
  void reach(Page last) {
    if (last < blocks_.size()) return;
    if (last >= blocks_.capacity())
      blocks_.reserve(std::max<std::size_t>(std::size_t{last} + 1, 2 * blocks_.capacity()));
    blocks_.resize(std::size_t{last} + 1);
  }
  bool has(Page page) const { return page < blocks_.size() && blocks_[page].prefix != 0; }
  Block& operator[](Page page) { return blocks_[page]; }
  const Block& operator[](Page page) const { return blocks_[page]; }

  Page first() const { return first_; }
  void append(Page page) {
    Block& block = blocks_[page];
    block.before = last_, block.after = 0;
    (last_ ? blocks_[last_].after : first_) = page;
    last_ = page;
  }
  void take_out(Page page) {
    const Block& block = blocks_[page];
    (block.before ? blocks_[block.before].after : first_) = block.after;
    (block.after ? blocks_[block.after].before : last_) = block.before;
  }
  /// Gives the block of page `from` the page `to`, at the same place of the queue. REQUIRES: `from` is in the queue;
  /// reach(to); `to` is not in the index.
  void relocate(Page from, Page to) {
    blocks_[to] = blocks_[from];
    blocks_[from] = {};
    const Block& block = blocks_[to];
    (block.before ? blocks_[block.before].after : first_) = to;
    (block.after ? blocks_[block.after].before : last_) = to;
  }
  void clear() { blocks_.clear(), first_ = last_ = 0; }

  std::size_t size() const { return blocks_.size(); }
  /// Returns the size to which it grows before it takes more memory.
  std::size_t room() const { return blocks_.capacity(); }
  std::size_t bytes() const { return blocks_.capacity() * sizeof(Block); }

 private:
  std::vector<Block> blocks_;
  Page first_ = 0, last_ = 0;
};

}  // namespace canopy::hash_chain
