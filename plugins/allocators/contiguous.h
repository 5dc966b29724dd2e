#pragma once

#include <canopy/slot_allocator.h>

#include <iterator>
#include <map>
#include <new>
#include <set>

#include "out_pages.h"

namespace canopy::allocators {

/// Hands out adjacent pages: those of the smallest free run that is long enough for a request, or else of the longest
/// runs, so that a bulk copy has few pieces. Runs merge when pages are freed. O(log runs) for each run touched.
///
/// A run that finds no memory for its place is kept as loose pages until there is some.
class Contiguous final : public SlotAllocator {
 public:
  bool allocate(std::span<Page> out) override {
    if (out.size() > occupancy_.free) return false;
    if (!loose_.empty()) file_loose();
    for (std::size_t done = 0; done < out.size();) {
      if (by_size_.empty()) {
        out[done] = loose_.first();
        loose_.remove({out[done++], 1});
        continue;
      }
      const auto left = static_cast<std::uint32_t>(out.size() - done);
      auto fit = by_size_.lower_bound({left, 0});
      if (fit == by_size_.end()) fit = std::prev(fit);  // no run is long enough: take the longest
      const auto [pages, first] = *fit;
      const std::uint32_t take = std::min(pages, left);
      change(runs_.find(first), first + take, pages - take);
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
        put(pages[i], static_cast<std::uint32_t>(end - i));
        occupancy_.free += end - i;
      }
      i = end;
    }
    return true;
  }

  Occupancy occupancy() const override { return occupancy_; }

  void offer(Segment segment) override {
    segment = without_page_zero(segment);
    // Takes memory first: without it nothing has changed.
    const std::size_t end = std::size_t{segment.first} + segment.pages;
    out_.reserve(end), withdrawn_.reserve(end), loose_.reserve(end);
    withdrawn_.remove(segment);
    occupancy_.capacity += segment.pages;
    out_.each_gap(segment, [&](Page first, std::uint32_t pages) {
      put(first, pages);
      occupancy_.free += pages;
    });
  }

  void withdraw(Segment segment) override {
    segment = without_page_zero(segment);
    occupancy_.free -= segment.pages - out_.count(segment);
    occupancy_.capacity -= segment.pages;
    withdrawn_.add(segment);
    loose_.remove(segment);
    const std::uint64_t end = std::uint64_t{segment.first} + segment.pages;
    auto at = runs_.upper_bound(segment.first);
    if (at != runs_.begin()) --at;
    while (at != runs_.end() && at->first < end) {
      const auto [first, pages] = *at;
      const auto next = std::next(at);
      if (const std::uint64_t run_end = std::uint64_t{first} + pages; run_end > segment.first) {
        const auto behind = static_cast<std::uint32_t>(run_end - std::min(run_end, end));
        if (first < segment.first) {
          change(at, first, segment.first - first);
          if (behind > 0) put(static_cast<Page>(end), behind);
        } else {
          change(at, static_cast<Page>(end), behind);
        }
      }
      at = next;
    }
  }

  SegmentUse use(Segment segment) const override { return {out_.count(segment)}; }
  bool is_out(Page page) const override { return out_.contains(page); }
  std::uint64_t longest_run() const override { return by_size_.empty() ? !loose_.empty() : by_size_.rbegin()->first; }

 private:
  using Runs = std::map<Page, std::uint32_t>;

  void add(Page first, std::uint32_t pages) {
    const auto run = runs_.emplace(first, pages).first;
    try {
      by_size_.emplace(pages, first);
    } catch (...) {
      runs_.erase(run);
      throw;
    }
  }
  /// Gives a run another place and length, without memory; 0 pages: removes it.
  void change(Runs::iterator run, Page first, std::uint32_t pages) {
    auto size = by_size_.extract({run->second, run->first});
    auto place = runs_.extract(run);
    if (pages == 0) return;
    size.value() = {pages, first};
    by_size_.insert(std::move(size));
    place.key() = first;
    place.mapped() = pages;
    runs_.insert(std::move(place));
  }
  /// Adds free pages. A run that has no neighbour needs memory.
  void merge(Page first, std::uint32_t pages) {
    auto after = runs_.lower_bound(first), before = after == runs_.begin() ? runs_.end() : std::prev(after);
    if (before != runs_.end() && before->first + before->second != first) before = runs_.end();
    if (after != runs_.end() && after->first == first + pages) {
      pages += after->second;
      if (before == runs_.end()) return change(after, first, pages);
      change(after, 0, 0);
    }
    if (before != runs_.end()) return change(before, before->first, before->second + pages);
    add(first, pages);
  }
  void put(Page first, std::uint32_t pages) {
    try {
      merge(first, pages);
    } catch (const std::bad_alloc&) {
      loose_.add({first, pages});
    }
  }
  /// Makes runs of the loose pages, as far as there is memory.
  void file_loose() {
    try {
      while (!loose_.empty()) {
        const Page page = loose_.first();
        merge(page, 1);
        loose_.remove({page, 1});
      }
    } catch (const std::bad_alloc&) {
    }
  }

  OutPages out_;
  Runs runs_;                                         ///< free runs: first page, number of pages
  std::set<std::pair<std::uint32_t, Page>> by_size_;  ///< the same, by length
  PageSet withdrawn_;                                 ///< pages that must not be handed out again once they are freed
  PageSet loose_;                                     ///< free pages that are in no run
  Occupancy occupancy_;
};

}  // namespace canopy::allocators
