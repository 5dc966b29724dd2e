#pragma once

#include <canopy/slot_allocator.h>

#include <cstring>
#include <deque>

#include "out_pages.h"

namespace canopy::allocators {

/// Hands out the page that was freed last; if there is none, fresh pages of the segments in their order. Fresh
/// pages are ranges, not a list, so a pool of any size is ready at once.
class FreeList final : public SlotAllocator {
 public:
  bool allocate(std::span<Page> out) override {
    if (out.size() > occupancy_.free) return false;
    const std::size_t again = std::min(out.size(), returned_.size());
    if (again) std::memcpy(out.data(), returned_.data() + (returned_.size() - again), again * sizeof(Page));
    returned_.resize(returned_.size() - again);
    for (std::size_t i = again; i < out.size();) {
      Segment& fresh = fresh_.back();
      const auto take = static_cast<std::uint32_t>(std::min<std::size_t>(out.size() - i, fresh.pages));
      for (std::uint32_t k = 0; k < take; ++k) out[i + k] = fresh.first + k;
      i += take;
      fresh.first += take;
      if ((fresh.pages -= take) == 0) fresh_.pop_back();
    }
    out_.add(out);
    occupancy_.free -= out.size();
    return true;
  }

  bool free(std::span<const Page> pages) override {
    // Takes memory first: without it nothing has changed.
    if (const std::size_t needed = returned_.size() + pages.size(); needed > returned_.capacity())
      returned_.reserve(std::max(needed, 2 * returned_.capacity()));
    if (!out_.remove(pages)) return false;
    const std::size_t had = returned_.size();
    if (withdrawn_.empty()) returned_.insert(returned_.end(), pages.begin(), pages.end());
    else
      for (const Page page : pages)
        if (!withdrawn_.contains(page)) returned_.push_back(page);
    occupancy_.free += returned_.size() - had;
    return true;
  }

  Occupancy occupancy() const override { return occupancy_; }

  void offer(Segment segment) override {
    segment = without_page_zero(segment);
    withdrawn_.remove(segment);
    out_.reserve(std::size_t{segment.first} + segment.pages);
    occupancy_.capacity += segment.pages;
    // Goes in front of the others, because ranges are served from the back. A segment that was withdrawn may still have
    // pages out.
    out_.each_gap(segment, [&](Page first, std::uint32_t pages) {
      if (!fresh_.empty() && fresh_.front().first + fresh_.front().pages == first) fresh_.front().pages += pages;
      else fresh_.push_front({first, pages});
      occupancy_.free += pages;
    });
  }

  void withdraw(Segment segment) override {
    segment = without_page_zero(segment);
    occupancy_.free -= segment.pages - out_.count(segment);
    occupancy_.capacity -= segment.pages;
    withdrawn_.add(segment);
    std::erase_if(returned_, [&](Page page) { return page - segment.first < segment.pages; });
    cut_fresh(segment);
  }

  SegmentUse use(Segment segment) const override { return {out_.count(segment)}; }
  bool is_out(Page page) const override { return out_.contains(page); }

  std::uint64_t longest_run() const override {
    std::vector<Page> free(returned_);
    for (const Segment& range : fresh_)
      for (std::uint32_t i = 0; i < range.pages; ++i) free.push_back(range.first + i);
    std::sort(free.begin(), free.end());
    std::uint64_t longest = 0, run = 0;
    for (std::size_t i = 0; i < free.size(); ++i) {
      run = i > 0 && free[i] == free[i - 1] + 1 ? run + 1 : 1;
      longest = std::max(longest, run);
    }
    return longest;
  }

 private:
  /// Removes a segment from the fresh ranges.
  void cut_fresh(Segment segment) {
    std::deque<Segment> left;
    for (const Segment& range : fresh_) without(range, segment, [&](Segment piece) { left.push_back(piece); });
    fresh_ = std::move(left);
  }

  OutPages out_;
  std::vector<Page> returned_;
  std::deque<Segment> fresh_;  ///< served from the back; segments offered in order of their numbers are one range
  Withdrawn withdrawn_;
  Occupancy occupancy_;
};

}  // namespace canopy::allocators
