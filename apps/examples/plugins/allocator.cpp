#include <canopy/plugin.h>

#include <algorithm>
#include <set>
#include <vector>

/// Hands out the lowest free page. Change allocate() to choose others. Calls: canopy/slot_allocator.h.
///
/// Each offered page is in one of two sets, and changes between them without new memory: only offer() takes some.
class Example final : public canopy::SlotAllocator {
 public:
  bool allocate(std::span<canopy::Page> out) override {
    if (out.size() > free_.size()) return false;
    for (canopy::Page& page : out) {
      page = *free_.begin();
      move(page, free_, others_);
      states_[page].out = true;
    }
    return true;
  }

  bool free(std::span<const canopy::Page> pages) override {
    std::size_t done = 0;
    for (; done < pages.size() && is_out(pages[done]); ++done) states_[pages[done]].out = false;
    if (done < pages.size()) {  // not handed out, or listed twice: nothing has changed
      while (done-- > 0) states_[pages[done]].out = true;
      return false;
    }
    for (const canopy::Page page : pages)
      if (states_[page].offered) move(page, others_, free_);
    return true;
  }

  canopy::Occupancy occupancy() const override { return {offered_, free_.size()}; }

  void offer(canopy::Segment segment) override {
    const std::size_t end = std::size_t{segment.first} + segment.pages;
    if (states_.size() < end) states_.resize(end);
    each(segment, [&](canopy::Page page) { others_.insert(page); });
    each(segment, [&](canopy::Page page) {
      states_[page].offered = true;
      ++offered_;
      if (!states_[page].out) move(page, others_, free_);
    });
  }

  void withdraw(canopy::Segment segment) override {
    each(segment, [&](canopy::Page page) {
      states_[page].offered = false;
      --offered_;
      if (!states_[page].out) move(page, free_, others_);
    });
  }

  canopy::SegmentUse use(canopy::Segment segment) const override {
    canopy::SegmentUse use;
    each(segment, [&](canopy::Page page) { use.out += is_out(page); });
    return use;
  }

  bool is_out(canopy::Page page) const override { return page < states_.size() && states_[page].out; }

  std::uint64_t longest_run() const override {
    std::uint64_t longest = 0, run = 0;
    for (canopy::Page last = 0; const canopy::Page page : free_) {
      run = page == last + 1 ? run + 1 : 1;
      longest = std::max(longest, run);
      last = page;
    }
    return longest;
  }

 private:
  struct State {
    bool offered = false, out = false;
  };
  using Pages = std::set<canopy::Page>;

  static void move(canopy::Page page, Pages& from, Pages& to) { to.insert(from.extract(page)); }

  /// Calls call(page) for each page of a segment that may be handed out: all but page 0.
  template <class Call>
  static void each(canopy::Segment segment, Call&& call) {
    for (std::uint32_t i = segment.first == 0; i < segment.pages; ++i) call(segment.first + i);
  }

  Pages free_, others_;
  std::vector<State> states_;  ///< by page
  std::uint64_t offered_ = 0;
};

CANOPY_PLUGIN("0.1.0",
              canopy::provide<canopy::SlotAllocator, Example>("example",
                                                              "describe in one line which pages are handed out"));
