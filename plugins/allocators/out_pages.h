#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace canopy::allocators {

/// The pages that are handed out ("out"), one bit for each page.
class OutPages {
 public:
  /// Makes room for pages below `end`.
  void reserve(std::size_t end) {
    if (bits_.size() < (end + 63) / 64) bits_.resize((end + 63) / 64);
  }
  bool contains(Page page) const { return page / 64 < bits_.size() && (bits_[page / 64] >> (page % 64) & 1); }
  void add(std::span<const Page> pages) {
    for (std::size_t i = 0; i < pages.size();) {
      const Row same = row_of(pages, i);
      bits_[same.at] |= same.mask;
      i = same.end;
    }
  }
  /// Returns false, and nothing has changed, if a page is not out or is listed twice.
  bool remove(std::span<const Page> pages) {
    for (std::size_t i = 0; i < pages.size();) {
      const Row same = row_of(pages, i);
      if (same.at >= bits_.size() || (bits_[same.at] & same.mask) != same.mask) {
        add(pages.first(i));
        return false;
      }
      bits_[same.at] &= ~same.mask;
      i = same.end;
    }
    return true;
  }
  /// Returns the number of a segment's pages that are out.
  std::uint32_t count(Segment segment) const {
    std::uint32_t out = 0;
    const std::size_t end = std::min(std::size_t{segment.first} + segment.pages, bits_.size() * 64);
    for (std::size_t page = segment.first; page < end;) {
      const std::size_t bit = page % 64, take = std::min<std::size_t>(64 - bit, end - page);
      const std::uint64_t word = bits_[page / 64] >> bit;
      out += static_cast<std::uint32_t>(std::popcount(take == 64 ? word : word & ((std::uint64_t{1} << take) - 1)));
      page += take;
    }
    return out;
  }
  /// Calls free(first, pages) for each run of pages in a segment that are not out.
  template <class Free>
  void each_gap(Segment segment, Free&& free) const {
    const std::size_t end = std::size_t{segment.first} + segment.pages;
    const bool none = count(segment) == 0;
    for (std::size_t page = segment.first; page < end;) {
      std::size_t until = none ? end : page;
      while (until < end && !contains(static_cast<Page>(until))) ++until;
      if (until > page) free(static_cast<Page>(page), static_cast<std::uint32_t>(until - page));
      page = until + 1;
    }
  }

 private:
  /// Consecutive pages of a list whose bits are in one word, which is read and written once for all of them: adjacent
  /// pages are mostly handed out and freed together. A page that is listed twice ends the row.
  struct Row {
    std::size_t at;      ///< the word
    std::uint64_t mask;  ///< their bits
    std::size_t end;     ///< one past the last of them in the list
  };
  static Row row_of(std::span<const Page> pages, std::size_t first) {
    Row row{pages[first] / 64, 0, first};
    for (; row.end < pages.size() && pages[row.end] / 64 == row.at; ++row.end) {
      const std::uint64_t bit = std::uint64_t{1} << (pages[row.end] % 64);
      if (row.mask & bit) break;
      row.mask |= bit;
    }
    return row;
  }

  std::vector<std::uint64_t> bits_;
};

/// A set of pages, one bit for each, whose changes need no memory. While it is empty, the usual case, a look at it
/// costs the test of a number.
class PageSet {
 public:
  bool empty() const { return count_ == 0; }
  /// Makes room for pages below `end`.
  void reserve(std::size_t end) {
    if (bits_.size() < (end + 63) / 64) bits_.resize((end + 63) / 64);
  }
  bool contains(Page page) const { return count_ > 0 && (bits_[page / 64] >> (page % 64) & 1); }
  /// Adds pages. REQUIRES: there is room for them, and none of them is in the set.
  void add(Segment segment) {
    count_ += segment.pages;
    each_word(segment, [](std::uint64_t& word, std::uint64_t mask) { word |= mask; });
  }
  /// Removes pages, some of which may not be in the set. REQUIRES: there is room for them.
  void remove(Segment segment) {
    if (empty()) return;
    each_word(segment, [this](std::uint64_t& word, std::uint64_t mask) {
      count_ -= static_cast<std::uint64_t>(std::popcount(word & mask));
      word &= ~mask;
    });
  }
  /// Returns the end of the run of pages from `from` on, before `end`, that are all in the set, or all outside it.
  /// REQUIRES: there is room for them, and from < end.
  std::uint64_t run_end(Page from, std::uint64_t end) const {
    const std::uint64_t inverted = contains(from) ? ~std::uint64_t{0} : 0;
    for (std::uint64_t page = from; page < end; page = (page / 64 + 1) * 64)
      if (const std::uint64_t ends = (bits_[page / 64] ^ inverted) >> (page % 64); ends != 0)
        return std::min(end, page + static_cast<std::uint64_t>(std::countr_zero(ends)));
    return end;
  }
  /// Returns the lowest page. REQUIRES: the set is not empty.
  Page first() const {
    std::size_t word = 0;
    while (bits_[word] == 0) ++word;
    return static_cast<Page>(word * 64) + static_cast<Page>(std::countr_zero(bits_[word]));
  }

 private:
  template <class Change>
  void each_word(Segment segment, Change&& change) {
    const std::size_t end = std::size_t{segment.first} + segment.pages;
    for (std::size_t page = segment.first; page < end;) {
      const std::size_t bit = page % 64, some = std::min<std::size_t>(64 - bit, end - page);
      change(bits_[page / 64], ~std::uint64_t{0} >> (64 - some) << bit);
      page += some;
    }
  }

  std::vector<std::uint64_t> bits_;
  std::uint64_t count_ = 0;  ///< pages in the set
};

/// Takes memory for `count` entries of a list, and for as many more as it has, so that one entry more is cheap.
template <class T>
void make_room(std::vector<T>& list, std::size_t count) {
  if (list.capacity() < count) list.reserve(std::max(count, 2 * list.capacity()));
}

/// Returns the pages of a segment that may be handed out: all but page 0.
inline Segment without_page_zero(Segment segment) {
  return segment.first == 0 && segment.pages > 0 ? Segment{1, segment.pages - 1} : segment;
}

}  // namespace canopy::allocators
