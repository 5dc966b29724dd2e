#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <vector>

namespace canopy::radix {

/// Which pages get other numbers, and which: entries for each block of numbers in which a page moves, one block of them
/// for all others. An entry is the exclusive or of the old number and the new, 0 for a page that stays, so that a tree
/// is gone through without a branch that would be guessed.
class MovedPages {
 public:
  /// REQUIRES: from.size() == to.size(), no page twice in `from`.
  MovedPages(std::span<const Page> from, std::span<const Page> to) : entries_(kBlock) {
    if (from.empty()) return;
    first_of_block_.resize(std::size_t{*std::max_element(from.begin(), from.end())} / kBlock + 1);
    entries_.reserve(from.size() + 2 * kBlock);
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::uint32_t& first = first_of_block_[from[i] / kBlock];
      if (first == 0) {
        first = static_cast<std::uint32_t>(entries_.size());
        entries_.resize(entries_.size() + kBlock);
      }
      entries_[first + from[i] % kBlock] = from[i] ^ to[i];
    }
  }

  /// The page's new number, or the one it has.
  Page operator()(Page page) const {
    if (page / kBlock >= first_of_block_.size()) return page;
    return page ^ entries_[first_of_block_[page / kBlock] + page % kBlock];
  }

 private:
  static constexpr Page kBlock = 64;

  std::vector<std::uint32_t> first_of_block_;  ///< into `entries_`
  std::vector<Page> entries_;
};

}  // namespace canopy::radix
