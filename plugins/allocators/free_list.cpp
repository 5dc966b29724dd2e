#include <canopy/plugin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace {

using namespace canopy;

/// Hands out what came back last, and fresh pages of the segments in their order while nothing has come back.
/// Fresh pages are ranges, not a list, so a pool of any size is ready at once.
class FreeList final : public SlotAllocator {
 public:
  bool allocate(std::span<Page> out) override {
    if (out.size() > occupancy_.free) return false;
    const std::size_t again = std::min(out.size(), returned_.size());
    std::memcpy(out.data(), returned_.data() + (returned_.size() - again), again * sizeof(Page));
    returned_.resize(returned_.size() - again);
    for (std::size_t i = again; i < out.size();) {
      Segment& fresh = fresh_.back();
      const auto take = static_cast<std::uint32_t>(std::min<std::size_t>(out.size() - i, fresh.pages));
      for (std::uint32_t k = 0; k < take; ++k) out[i + k] = fresh.first + k;
      i += take;
      fresh.first += take;
      if ((fresh.pages -= take) == 0) fresh_.pop_back();
    }
    for (const Page page : out) set_out(page, true);
    occupancy_.free -= out.size();
    return true;
  }

  bool free(std::span<const Page> pages) override {
    for (std::size_t i = 0; i < pages.size(); ++i) {
      if (is_out(pages[i])) {
        set_out(pages[i], false);
        continue;
      }
      for (std::size_t k = 0; k < i; ++k) set_out(pages[k], true);
      return false;
    }
    if (withdrawn_.empty()) {
      returned_.insert(returned_.end(), pages.begin(), pages.end());
      occupancy_.free += pages.size();
      return true;
    }
    for (const Page page : pages) {
      if (lies_in(page, withdrawn_)) continue;
      returned_.push_back(page);
      ++occupancy_.free;
    }
    return true;
  }

  Occupancy occupancy() const override { return occupancy_; }

  void offer(Segment segment) override {
    std::erase_if(withdrawn_, [&](const Segment& gone) { return gone.first == segment.first; });
    const std::size_t end = std::size_t{segment.first} + segment.pages;
    if (out_.size() < (end + 63) / 64) out_.resize((end + 63) / 64);
    const std::uint64_t still_out = use(segment).out;
    if (segment.first == 0) ++segment.first, --segment.pages;
    occupancy_.capacity += segment.pages;
    occupancy_.free += segment.pages - still_out;
    // In front of the others: they are served from the back. One that was withdrawn may have pages out still.
    for (Page page = segment.first; page < end;) {
      Page until = still_out ? page : static_cast<Page>(end);
      while (until < end && !is_out(until)) ++until;
      if (until > page) fresh_.insert(fresh_.begin(), {page, until - page});
      page = until + 1;
    }
  }

  void withdraw(Segment segment) override {
    const std::uint64_t capacity = segment.pages - (segment.first == 0 ? 1 : 0);
    occupancy_.free -= capacity - use(segment).out;
    occupancy_.capacity -= capacity;
    const std::vector<Segment> gone{segment};
    std::erase_if(returned_, [&](Page page) { return lies_in(page, gone); });
    std::erase_if(fresh_, [&](const Segment& range) { return lies_in(range.first, gone); });
    withdrawn_.push_back(segment);
  }

  SegmentUse use(Segment segment) const override {
    SegmentUse use;
    const std::size_t end = std::size_t{segment.first} + segment.pages;
    for (std::size_t page = segment.first; page < end;) {
      const std::size_t bit = page % 64, take = std::min<std::size_t>(64 - bit, end - page);
      const std::uint64_t word = page / 64 < out_.size() ? out_[page / 64] >> bit : 0;
      use.out += static_cast<std::uint32_t>(std::popcount(take == 64 ? word : word & ((std::uint64_t{1} << take) - 1)));
      page += take;
    }
    return use;
  }

  bool is_out(Page page) const override { return page / 64 < out_.size() && (out_[page / 64] >> (page % 64) & 1); }

  std::uint64_t longest_run() const override {
    std::vector<bool> is_free(out_.size() * 64);
    for (const Page page : returned_) is_free[page] = true;
    for (const Segment& range : fresh_)
      for (Page page = range.first; page < range.first + range.pages; ++page) is_free[page] = true;
    std::uint64_t longest = 0, run = 0;
    for (const bool free : is_free) longest = std::max(longest, run = free ? run + 1 : 0);
    return longest;
  }

 private:
  static bool lies_in(Page page, const std::vector<Segment>& segments) {
    return std::any_of(segments.begin(), segments.end(),
                       [page](const Segment& segment) { return page - segment.first < segment.pages; });
  }
  void set_out(Page page, bool out) {
    const std::uint64_t bit = std::uint64_t{1} << (page % 64);
    out_[page / 64] = out ? out_[page / 64] | bit : out_[page / 64] & ~bit;
  }

  std::vector<Page> returned_;
  std::vector<Segment> fresh_;      ///< served from the back
  std::vector<Segment> withdrawn_;
  std::vector<std::uint64_t> out_;  ///< a bit a page
  Occupancy occupancy_;
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::SlotAllocator, FreeList>("free_list", "last in, first out"));
