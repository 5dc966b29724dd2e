#pragma once

#include <canopy/plugin.h>

#include <algorithm>
#include <set>
#include <utility>

/// As an allocator must be, as plainly as can be: a set of what is free and a set of what is out. Right also where
/// memory is refused: it moves pages between its sets, and takes none for it.
class Plain : public canopy::SlotAllocator {
 public:
  bool allocate(std::span<canopy::Page> out) override {
    if (out.size() > free_.size()) return false;
    for (canopy::Page& page : out) {
      page = *free_.begin();
      out_.insert(free_.extract(free_.begin()));
    }
    return true;
  }
  bool free(std::span<const canopy::Page> pages) override {
    for (auto page = pages.begin(); page != pages.end(); ++page)
      if (!out_.contains(*page) || std::find(pages.begin(), page, *page) != page) return false;
    for (const canopy::Page page : pages) {
      auto back = out_.extract(page);
      if (offered_.contains(page)) free_.insert(std::move(back));
    }
    return true;
  }
  canopy::Occupancy occupancy() const override { return {offered_.size(), free_.size()}; }
  void offer(canopy::Segment segment) override {
    std::set<canopy::Page> offered, free;
    for (canopy::Page page = std::max(segment.first, first_page()); page < segment.first + segment.pages; ++page) {
      offered.insert(page);
      if (!out_.contains(page)) free.insert(page);
    }
    offered_.merge(offered);
    free_.merge(free);
  }
  void withdraw(canopy::Segment segment) override {
    for (canopy::Page page = segment.first; page < segment.first + segment.pages; ++page) {
      offered_.erase(page);
      free_.erase(page);
    }
  }
  canopy::SegmentUse use(canopy::Segment segment) const override {
    const auto in_it = [&](canopy::Page page) { return page - segment.first < segment.pages; };
    return {static_cast<std::uint32_t>(std::count_if(out_.begin(), out_.end(), in_it))};
  }
  bool is_out(canopy::Page page) const override { return out_.contains(page); }
  std::uint64_t longest_run() const override {
    std::uint64_t longest = 0, run = 0;
    canopy::Page last = 0;
    for (const canopy::Page page : free_) {
      run = run > 0 && page == last + 1 ? run + 1 : 1;
      longest = std::max(longest, run);
      last = page;
    }
    return longest;
  }

 protected:
  virtual canopy::Page first_page() const { return 1; }
  std::set<canopy::Page> free_, out_, offered_;
};
