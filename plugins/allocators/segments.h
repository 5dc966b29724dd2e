#pragma once

#include <canopy/slot_allocator.h>

#include <bit>
#include <utility>

#include "out_pages.h"

namespace canopy::allocators {

/// Hands out pages of the fullest segment that has a free page, so that other segments become empty and their memory
/// can be given back: a pool that must shrink has the fewest pages to relocate. Within a segment the lowest page comes
/// first. A page costs a few bit operations, whatever the size of the pool; finding a segment reads at most one bit for
/// each page of a segment.
class Segments final : public SlotAllocator {
 public:
  struct Config {
    void visit(Options&) {}
  };
  Segments(const Config&, const Context& context)
      : pages_(context.segment_pages ? context.segment_pages : kUsualPages),
        first_of_(std::size_t{pages_} + 1, kNone),
        filled_((std::size_t{pages_} + 64) / 64) {}

  bool allocate(std::span<Page> out) override {
    if (out.size() > occupancy_.free) return false;
    for (std::size_t done = 0; done < out.size();) {
      const std::uint32_t segment = fullest();
      State& state = segments_[segment];
      const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(out.size() - done, state.free));
      std::uint32_t taken = 0;
      for (std::size_t word = state.low; taken < most; ++word) {
        std::uint64_t mine = free_[word] & mask(segment, word);
        const std::uint64_t all = mine;
        for (; taken < most && mine != 0; mine &= mine - 1)
          out[done + taken++] = static_cast<Page>(word * 64) + static_cast<Page>(std::countr_zero(mine));
        free_[word] ^= all ^ mine;
        state.low = word;
      }
      count(segment, segments_[segment].free - taken);
      done += taken;
    }
    out_.add(out);
    occupancy_.free -= out.size();
    return true;
  }

  bool free(std::span<const Page> pages) override {
    if (!out_.remove(pages)) return false;
    // Adjacent pages are mostly freed together: a segment is filed once for all of them.
    for (std::size_t i = 0; i < pages.size();) {
      const std::uint32_t segment = segment_of(pages[i]);
      std::uint32_t back = 0;
      for (; i < pages.size() && segment_of(pages[i]) == segment; ++i)
        if (withdrawn_.empty() || !withdrawn_.contains(pages[i])) put(segment, pages[i]), ++back;
      count(segment, segments_[segment].free + back);
      occupancy_.free += back;
    }
    return true;
  }

  Occupancy occupancy() const override { return occupancy_; }

  void offer(Segment range) override {
    range = without_page_zero(range);
    if (range.pages == 0) return;
    // Takes memory first: without it nothing has changed.
    const std::size_t end = std::size_t{range.first} + range.pages;
    out_.reserve(end), withdrawn_.reserve(end);
    if (free_.size() < (end + 63) / 64) free_.resize((end + 63) / 64);
    make_room(segments_, (end + pages_ - 1) / pages_);
    withdrawn_.remove(range);
    while (segments_.size() * pages_ < end) segments_.push_back({segments_.size() * pages_ / 64, 0, kNone, kNone});
    occupancy_.capacity += range.pages;
    out_.each_gap(range, [&](Page first, std::uint32_t pages) {
      for (std::uint32_t i = 0; i < pages;) {
        const std::uint32_t segment = segment_of(first + i);
        const std::uint32_t had = i;
        for (; i < pages && segment_of(first + i) == segment; ++i) put(segment, first + i);
        count(segment, segments_[segment].free + (i - had));
      }
      occupancy_.free += pages;
    });
  }

  void withdraw(Segment range) override {
    range = without_page_zero(range);
    occupancy_.capacity -= range.pages;
    withdrawn_.add(range);
    for (std::uint32_t i = 0; i < range.pages;) {
      const std::uint32_t segment = segment_of(range.first + i);
      std::uint32_t gone = 0;
      for (; i < range.pages && segment_of(range.first + i) == segment; ++i) {
        const Page page = range.first + i;
        gone += static_cast<std::uint32_t>(free_[page / 64] >> (page % 64) & 1);
        free_[page / 64] &= ~(std::uint64_t{1} << (page % 64));
      }
      count(segment, segments_[segment].free - gone);
      occupancy_.free -= gone;
    }
  }

  SegmentUse use(Segment range) const override { return {out_.count(range)}; }
  bool is_out(Page page) const override { return out_.contains(page); }

  std::uint64_t longest_run() const override {
    std::uint64_t longest = 0, run = 0;
    for (const std::uint64_t word : free_) {
      if (word == ~std::uint64_t{0}) {
        longest = std::max(longest, run += 64);
        continue;
      }
      for (int bit = 0; bit < 64; ++bit) longest = std::max(longest, run = word >> bit & 1 ? run + 1 : 0);
    }
    return longest;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0}, kUsualPages = 65536;
  struct State {
    std::size_t low;           ///< no word of free_ before it has a page of the segment
    std::uint32_t free;        ///< pages that can be handed out
    std::uint32_t next, prev;  ///< neighbours among the segments with the same number of free pages
  };

  /// Returns the segment of a page. Shifts if segments are powers of two, as stores on a GPU require, because a
  /// division takes ten nanoseconds.
  std::uint32_t segment_of(Page page) const { return shift_ < 32 ? page >> shift_ : page / pages_; }
  /// Returns the bits of a word that are pages of the segment, which may begin inside a word.
  std::uint64_t mask(std::uint32_t segment, std::size_t word) const {
    const std::uint64_t first = std::uint64_t{segment} * pages_, end = first + pages_, at = std::uint64_t{word} * 64;
    std::uint64_t bits = ~std::uint64_t{0};
    if (at < first) bits &= first - at < 64 ? ~std::uint64_t{0} << (first - at) : 0;
    if (at + 64 > end) bits &= end > at ? ~std::uint64_t{0} >> (at + 64 - end) : 0;
    return bits;
  }
  void put(std::uint32_t segment, Page page) {
    free_[page / 64] |= std::uint64_t{1} << (page % 64);
    segments_[segment].low = std::min<std::size_t>(segments_[segment].low, page / 64);
  }
  /// Sets the number of free pages of the segment, and files it under that number.
  void count(std::uint32_t segment, std::uint32_t free) {
    State& state = segments_[segment];
    if (state.free == free) return;
    if (state.free > 0) {
      if (state.next != kNone) segments_[state.next].prev = state.prev;
      if (state.prev != kNone) segments_[state.prev].next = state.next;
      else if ((first_of_[state.free] = state.next) == kNone)
        filled_[state.free / 64] &= ~(std::uint64_t{1} << (state.free % 64));
    }
    state.free = free;
    if (free == 0) return;
    state.prev = kNone;
    state.next = std::exchange(first_of_[free], segment);
    if (state.next != kNone) segments_[state.next].prev = segment;
    filled_[free / 64] |= std::uint64_t{1} << (free % 64);
  }
  /// Returns the segment with the fewest free pages among those that have one. REQUIRES: a page is free.
  std::uint32_t fullest() const {
    std::size_t word = 0;
    while (filled_[word] == 0) ++word;
    return first_of_[word * 64 + static_cast<std::size_t>(std::countr_zero(filled_[word]))];
  }

  std::uint32_t pages_;
  int shift_ = std::has_single_bit(pages_) ? std::countr_zero(pages_) : 32;
  OutPages out_;
  std::vector<std::uint64_t> free_;  ///< one bit for each page, set if it can be handed out
  std::vector<State> segments_;
  std::vector<std::uint32_t> first_of_;  ///< by number of free pages: the first segment with that number
  std::vector<std::uint64_t> filled_;    ///< one bit for each entry of first_of_, set if it is not kNone
  PageSet withdrawn_;                    ///< pages that must not be handed out again once they are freed
  Occupancy occupancy_;
};

}  // namespace canopy::allocators
