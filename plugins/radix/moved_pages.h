#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace canopy::radix {

/// Which pages get other numbers, and which: a bit for each number up to the highest, so that those that stay are
/// passed over at the speed of reading, and an array as long as the list for the others.
class MovedPages {
 public:
  /// REQUIRES: from.size() == to.size(), no page twice in `from`.
  MovedPages(std::span<const Page> from, std::span<const Page> to) : to_(to.size()) {
    if (from.empty()) return;
    end_ = std::size_t{*std::max_element(from.begin(), from.end())} + 1;
    words_.resize((end_ + 63) / 64);
    for (const Page page : from) words_[page / 64].bits |= std::uint64_t{1} << page % 64;
    std::uint32_t before = 0;
    for (Word& word : words_) {
      word.before = before;
      before += static_cast<std::uint32_t>(std::popcount(word.bits));
    }
    for (std::size_t i = 0; i < from.size(); ++i) to_[place(from[i])] = to[i];
  }

  /// Null if the page stays.
  const Page* find(Page page) const {
    return page < end_ && words_[page / 64].bits >> page % 64 & 1 ? &to_[place(page)] : nullptr;
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;  ///< moved pages with lower numbers than this word's
  };
  std::size_t place(Page page) const {
    const Word& word = words_[page / 64];
    const std::uint64_t below = (std::uint64_t{1} << page % 64) - 1;
    return word.before + static_cast<std::size_t>(std::popcount(word.bits & below));
  }

  std::size_t end_ = 0;
  std::vector<Word> words_;
  std::vector<Page> to_;  ///< in the order of the pages that move
};

}  // namespace canopy::radix
