#pragma once

#include <canopy/slot_allocator.h>

#include <cstring>
#include <new>
#include <utility>

#include "out_pages.h"

namespace canopy::allocators {

/// Hands out the page that was freed last; if there is none, fresh pages of the segments in their order. Fresh
/// pages are ranges, not a list, so a pool of any size is ready at once.
class FreeList final : public SlotAllocator {
 public:
  bool allocate(std::span<Page> out) override try {
    if (out.size() > occupancy_.free) return false;
    if (listed_) drop_withdrawn();
    const std::size_t again = std::min(out.size(), returned_.size()), fresh_pages = out.size() - again;
    // The place of each page that comes back is there before it goes out, so that free() needs no memory.
    make_room(returned_, used_ + fresh_pages);
    used_ += fresh_pages;
    if (again) std::memcpy(out.data(), returned_.data() + (returned_.size() - again), again * sizeof(Page));
    returned_.resize(returned_.size() - again);
    for (std::size_t i = again; i < out.size();) {
      Segment& fresh = fresh_[served_];
      const auto take = static_cast<std::uint32_t>(std::min<std::size_t>(out.size() - i, fresh.pages));
      for (std::uint32_t k = 0; k < take; ++k) out[i + k] = fresh.first + k;
      i += take;
      fresh.first += take;
      served_ += (fresh.pages -= take) == 0;
    }
    out_.add(out);
    occupancy_.free -= out.size();
    return true;
  } catch (const std::bad_alloc&) {  // for the places of fresh pages: nothing has changed
    return false;
  }

  bool free(std::span<const Page> pages) override {
    if (!out_.remove(pages)) return false;
    const std::size_t had = returned_.size();
    if (withdrawn_.empty()) returned_.insert(returned_.end(), pages.begin(), pages.end());
    else
      for (const Page page : pages)
        if (!withdrawn_.contains(page)) returned_.push_back(page);
    occupancy_.free += returned_.size() - had;
    used_ -= pages.size() - (returned_.size() - had);
    return true;
  }

  Occupancy occupancy() const override { return occupancy_; }

  void offer(Segment segment) override {
    segment = without_page_zero(segment);
    // Takes memory first: without it nothing has changed.
    if (listed_) drop_withdrawn();
    const std::size_t end = std::size_t{segment.first} + segment.pages;
    out_.reserve(end), withdrawn_.reserve(end);
    fresh_.erase(fresh_.begin(), fresh_.begin() + static_cast<std::ptrdiff_t>(served_));
    served_ = 0;
    std::size_t gaps = 0;
    out_.each_gap(segment, [&](Page, std::uint32_t) { ++gaps; });
    make_room(fresh_, fresh_.size() + gaps);
    withdrawn_.remove(segment);
    occupancy_.capacity += segment.pages;
    // A segment that was withdrawn may still have pages out.
    out_.each_gap(segment, [&](Page first, std::uint32_t pages) {
      if (!fresh_.empty() && fresh_.back().first + fresh_.back().pages == first) fresh_.back().pages += pages;
      else fresh_.push_back({first, pages});
      occupancy_.free += pages;
    });
  }

  void withdraw(Segment segment) override {
    segment = without_page_zero(segment);
    occupancy_.free -= segment.pages - out_.count(segment);
    occupancy_.capacity -= segment.pages;
    withdrawn_.add(segment);
    listed_ = true;
  }

  SegmentUse use(Segment segment) const override { return {out_.count(segment)}; }
  bool is_out(Page page) const override { return out_.contains(page); }

  std::uint64_t longest_run() const override {
    std::vector<Page> free(returned_);
    for (const Segment& range : std::span(fresh_).subspan(served_))
      for (std::uint32_t i = 0; i < range.pages; ++i) free.push_back(range.first + i);
    if (listed_) std::erase_if(free, [&](Page page) { return withdrawn_.contains(page); });
    std::sort(free.begin(), free.end());
    std::uint64_t longest = 0, run = 0;
    for (std::size_t i = 0; i < free.size(); ++i) {
      run = i > 0 && free[i] == free[i - 1] + 1 ? run + 1 : 1;
      longest = std::max(longest, run);
    }
    return longest;
  }

 private:
  /// Removes withdrawn pages from the lists, once for any number of withdrawals in a row.
  void drop_withdrawn() {
    std::vector<Segment> left;  // the only memory: without it nothing has changed
    for (std::size_t i = served_; i < fresh_.size(); ++i) {
      const std::uint64_t end = std::uint64_t{fresh_[i].first} + fresh_[i].pages;
      for (std::uint64_t from = fresh_[i].first, until; from < end; from = until) {
        until = withdrawn_.run_end(static_cast<Page>(from), end);
        if (!withdrawn_.contains(static_cast<Page>(from)))
          left.push_back({static_cast<Page>(from), static_cast<std::uint32_t>(until - from)});
      }
    }
    fresh_ = std::move(left);
    served_ = 0;
    const std::size_t had = returned_.size();
    std::erase_if(returned_, [&](Page page) { return withdrawn_.contains(page); });
    used_ -= had - returned_.size();
    listed_ = false;
  }

  OutPages out_;
  std::vector<Page> returned_;
  std::size_t used_ = 0;        ///< pages that are out, and those in returned_
  std::vector<Segment> fresh_;  ///< in the order in which they are served; segments offered in order are one range
  std::size_t served_ = 0;      ///< ranges at the start of fresh_ that are used up
  bool listed_ = false;         ///< a withdrawn page may be in the lists
  PageSet withdrawn_;           ///< pages that must not be handed out again once they are freed
  Occupancy occupancy_;
};

}  // namespace canopy::allocators
