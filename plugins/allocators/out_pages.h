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

/// Calls keep(segment) for each piece of `range` outside `cut`: none, one or two, in order.
template <class Keep>
void without(Segment range, Segment cut, Keep&& keep) {
  const std::uint64_t first = range.first, end = first + range.pages, from = cut.first, to = from + cut.pages;
  const auto piece = [&](std::uint64_t begin, std::uint64_t stop) {
    if (begin < stop) keep(Segment{static_cast<Page>(begin), static_cast<std::uint32_t>(stop - begin)});
  };
  piece(first, std::min(end, from));
  piece(std::max(first, to), end);
}

/// Pages that must not be handed out again once they are freed. Costs nothing while there are none, the usual case.
class Withdrawn {
 public:
  bool empty() const { return segments_.empty(); }
  bool contains(Page page) const {
    return std::any_of(segments_.begin(), segments_.end(),
                       [page](const Segment& gone) { return page - gone.first < gone.pages; });
  }
  void add(Segment segment) { segments_.push_back(segment); }
  /// Removes a segment, which may be any part of the withdrawn pages.
  void remove(Segment segment) {
    std::vector<Segment> left;
    for (const Segment& gone : segments_) without(gone, segment, [&](Segment piece) { left.push_back(piece); });
    segments_ = std::move(left);
  }

 private:
  std::vector<Segment> segments_;
};

/// Returns the pages of a segment that may be handed out: all but page 0.
inline Segment without_page_zero(Segment segment) {
  return segment.first == 0 && segment.pages > 0 ? Segment{1, segment.pages - 1} : segment;
}

}  // namespace canopy::allocators
