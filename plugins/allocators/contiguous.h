#pragma once

#include <canopy/slot_allocator.h>

#include <iterator>
#include <map>
#include <set>

#include "out_pages.h"

namespace canopy::allocators {

/// Hands out adjacent pages: those of the smallest free run that is long enough for a request, or else of the longest
/// runs, so that a bulk copy has few pieces. Runs merge when pages are freed. O(log runs) for each run touched.
class Contiguous final : public SlotAllocator {
 public:
  bool allocate(std::span<Page> out) override {
    if (out.size() > occupancy_.free) return false;
    for (std::size_t done = 0; done < out.size();) {
      const auto left = static_cast<std::uint32_t>(out.size() - done);
      auto fit = by_size_.lower_bound({left, 0});
      if (fit == by_size_.end()) fit = std::prev(fit);  // no run is long enough: take the longest
      const auto [pages, first] = *fit;
      const std::uint32_t take = std::min(pages, left);
      remove(runs_.find(first));
      if (take < pages) add(first + take, pages - take);
      for (std::uint32_t k = 0; k < take; ++k) out[done + k] = first + k;
      done += take;
    }
    out_.add(out);
    occupancy_.free -= out.size();
    return true;
  }

  bool free(std::span<const Page> pages) override {
    if (!out_.remove(pages)) return false;
    // Adjacent pages are mostly freed together and in order.
    for (std::size_t i = 0; i < pages.size();) {
      std::size_t end = i + 1;
      while (end < pages.size() && pages[end] == pages[end - 1] + 1 &&
             withdrawn_.contains(pages[end]) == withdrawn_.contains(pages[i]))
        ++end;
      if (!withdrawn_.contains(pages[i])) {
        merge(pages[i], static_cast<std::uint32_t>(end - i));
        occupancy_.free += end - i;
      }
      i = end;
    }
    return true;
  }

  Occupancy occupancy() const override { return occupancy_; }

  void offer(Segment segment) override {
    segment = without_page_zero(segment);
    withdrawn_.remove(segment);
    out_.reserve(std::size_t{segment.first} + segment.pages);
    occupancy_.capacity += segment.pages;
    out_.each_gap(segment, [&](Page first, std::uint32_t pages) {
      merge(first, pages);
      occupancy_.free += pages;
    });
  }

  void withdraw(Segment segment) override {
    segment = without_page_zero(segment);
    occupancy_.free -= segment.pages - out_.count(segment);
    occupancy_.capacity -= segment.pages;
    withdrawn_.add(segment);
    const std::uint64_t end = std::uint64_t{segment.first} + segment.pages;
    auto at = runs_.upper_bound(segment.first);
    if (at != runs_.begin()) --at;
    while (at != runs_.end() && at->first < end) {
      const auto [first, pages] = *at;
      const auto next = std::next(at);
      if (std::uint64_t{first} + pages > segment.first) {
        remove(at);
        if (first < segment.first) add(first, segment.first - first);
        if (first + pages > end) add(static_cast<Page>(end), static_cast<std::uint32_t>(first + pages - end));
      }
      at = next;
    }
  }

  SegmentUse use(Segment segment) const override { return {out_.count(segment)}; }
  bool is_out(Page page) const override { return out_.contains(page); }
  std::uint64_t longest_run() const override { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  using Runs = std::map<Page, std::uint32_t>;

  void add(Page first, std::uint32_t pages) {
    runs_.emplace(first, pages);
    by_size_.emplace(pages, first);
  }
  void remove(Runs::iterator run) {
    by_size_.erase({run->second, run->first});
    runs_.erase(run);
  }
  void merge(Page first, std::uint32_t pages) {
    auto after = runs_.lower_bound(first);
    if (after != runs_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == first) {
        first = before->first;
        pages += before->second;
        remove(before);
      }
    }
    after = runs_.lower_bound(first);
    if (after != runs_.end() && after->first == first + pages) {
      pages += after->second;
      remove(after);
    }
    add(first, pages);
  }

  OutPages out_;
  Runs runs_;                                         ///< free runs: first page, number of pages
  std::set<std::pair<std::uint32_t, Page>> by_size_;  ///< the same, by length
  Withdrawn withdrawn_;
  Occupancy occupancy_;
};

}  // namespace canopy::allocators
