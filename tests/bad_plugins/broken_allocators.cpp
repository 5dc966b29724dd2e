#include <canopy/plugin.h>

#include <algorithm>
#include <set>
#include <vector>

// Allocators that load well and then break the contract, each in one way.
namespace {

using canopy::Page;
using canopy::Segment;

/// As an allocator must be, as plainly as can be: a set of what is free and a set of what is out.
class Plain : public canopy::SlotAllocator {
 public:
  bool allocate(std::span<Page> out) override {
    if (out.size() > free_.size()) return false;
    for (Page& page : out) {
      page = *free_.begin();
      free_.erase(free_.begin());
      out_.insert(page);
    }
    return true;
  }
  bool free(std::span<const Page> pages) override {
    const std::set<Page> once(pages.begin(), pages.end());
    if (once.size() != pages.size() || !std::includes(out_.begin(), out_.end(), once.begin(), once.end())) return false;
    for (const Page page : once) {
      out_.erase(page);
      if (offered_.contains(page)) free_.insert(page);
    }
    return true;
  }
  canopy::Occupancy occupancy() const override { return {offered_.size(), free_.size()}; }
  void offer(Segment segment) override {
    for (Page page = std::max(segment.first, first_page()); page < segment.first + segment.pages; ++page) {
      offered_.insert(page);
      if (!out_.contains(page)) free_.insert(page);
    }
  }
  void withdraw(Segment segment) override {
    for (Page page = segment.first; page < segment.first + segment.pages; ++page) {
      offered_.erase(page);
      free_.erase(page);
    }
  }
  canopy::SegmentUse use(Segment segment) const override {
    const auto in_it = [&](Page page) { return page - segment.first < segment.pages; };
    return {static_cast<std::uint32_t>(std::count_if(out_.begin(), out_.end(), in_it))};
  }
  bool is_out(Page page) const override { return out_.contains(page); }
  std::uint64_t longest_run() const override {
    std::uint64_t longest = 0, run = 0;
    Page last = 0;
    for (const Page page : free_) {
      run = run > 0 && page == last + 1 ? run + 1 : 1;
      longest = std::max(longest, run);
      last = page;
    }
    return longest;
  }

 protected:
  virtual Page first_page() const { return 1; }
  std::set<Page> free_, out_, offered_;
};

class PageZero final : public Plain {
  Page first_page() const override { return 0; }
};

/// Hands out one page a second time once many are out.
class Twice final : public Plain {
 public:
  bool allocate(std::span<Page> out) override {
    if (!Plain::allocate(out)) return false;
    if (out_.size() > 60 && !out.empty()) out.back() = *out_.begin();
    return true;
  }
};

template <class T>
constexpr CanopyComponent allocator(const char* name) {
  return canopy::provide<canopy::SlotAllocator, T>(name, "breaks the contract, but for the plain one");
}

}  // namespace

CANOPY_PLUGIN("1.0.0", allocator<Plain>("plain"), allocator<PageZero>("page_zero"), allocator<Twice>("twice"));
