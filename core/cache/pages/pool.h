#pragma once

#include <canopy/base/result.h>
#include <canopy/engine/page_needs.h>
#include <canopy/engine/pool_view.h>
#include <canopy/eviction_strategy.h>
#include <canopy/kv_store.h>
#include <canopy/slot_allocator.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace canopy {

class AllocatorPort;
class StorePort;

/// A set of segment numbers whose changes need no memory.
class SegmentSet {
 public:
  /// Makes room for the numbers below `end`.
  void reserve(std::size_t end) {
    if (bits_.size() < (end + 63) / 64) bits_.resize(std::max((end + 63) / 64, 2 * bits_.size()));
  }
  void set(std::size_t number, bool in) {
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    if (in) bits_[number / 64] |= bit, first_ = std::min(first_, number / 64);
    else bits_[number / 64] &= ~bit;
  }
  /// Returns the lowest number; nothing if the set is empty.
  std::optional<std::size_t> first() {
    while (first_ < bits_.size() && bits_[first_] == 0) ++first_;
    if (first_ == bits_.size()) return {};
    return first_ * 64 + static_cast<std::size_t>(std::countr_zero(bits_[first_]));
  }
  /// Calls each(number) for all numbers in their order. It may remove the number.
  template <class Each>
  void each(Each&& each) const {
    for (std::size_t word = first_; word < bits_.size(); ++word)
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1)
        each(word * 64 + static_cast<std::size_t>(std::countr_zero(left)));
  }

 private:
  std::vector<std::uint64_t> bits_;
  std::size_t first_ = 0;  ///< no word before it has a bit
};

/// The pages of one KV cache group. A pool connects the numbers of the allocator with the memory of the store, which do
/// not depend on each other. It grows by a segment at a time, as far as its limit and the system's memory allow, before
/// any node is evicted. Under a lower limit the emptiest segments drain: their pages are not handed out again. When the
/// last page is freed (or relocated by the engine), the memory returns to the system. Segment 0 stays, for page 0.
class Pool {
 public:
  struct Components {
    std::string group;
    PageNeeds needs;
    std::shared_ptr<AllocatorPort> allocator;
    std::shared_ptr<EvictionStrategy> eviction;
    std::shared_ptr<StorePort> store;  ///< May be null (page numbers only).
    std::uint64_t limit = kUnlimited;  ///< pages, without page 0
    std::uint64_t start = 0;           ///< pages allocated at the start; at most `limit`
    std::uint32_t segment_pages = 1;   ///< pages of a segment; the store's value, if there is a store
    std::uint32_t idle_segments = 0;   ///< empty segments that keep their memory
  };
  explicit Pool(Components parts) : parts_(std::move(parts)) {}
  PoolView view() const { return PoolView(*this); }

  /// Allocates the first `start` pages. Returns an error if there is not even memory for one segment. With less memory
  /// than requested the pool starts smaller, and memory() reports it.
  Result<std::monostate> open();

  /// Fills `out` with pages for `owner`. Returns false, and changes nothing, if too few pages are free, or if the
  /// system has no memory. Never throws.
  bool allocate(std::span<Page> out, std::uint64_t owner) noexcept;
  /// Grows if fewer than `count` pages are free, as far as allowed. Returns the number of pages that are still missing.
  std::uint64_t shortfall(std::uint64_t count);
  /// Frees pages. Returns false, and changes nothing, if one of them is not in use: the caller does not own it.
  bool free(std::span<const Page> pages);

  /// Returns the free pages, and all pages that are free or in use, including draining ones.
  Occupancy occupancy() const;
  /// Returns the number of pages that are free or in use, without draining ones.
  std::uint64_t offered() const { return offered_; }
  /// Returns the number of pages by which the pool may grow; the system may have less memory than that.
  std::uint64_t growable() const;

  /// Sets the limit in pages, at least 1.
  void set_limit(std::uint64_t limit);
  /// Drains segments down to a lower limit. A higher one only makes draining segments available again: the pool grows
  /// on demand.
  void go_to_limit();
  /// Returns true if pages above the limit are offered: the allocator did not withdraw them, or go_to_limit() was not
  /// called.
  bool above_limit() const { return offered_ > parts_.limit; }
  /// Returns true if pages are in use in draining segments.
  bool draining() const { return draining_ > 0; }
  /// Returns true if a draining page was freed since the last reap().
  bool drained() const { return drained_; }
  /// Returns true if a page lies in the draining part of a segment.
  bool drains(Page page) const;
  /// Returns the number of pages in use above the limit.
  std::uint64_t surplus() const;
  /// Fills `to` with new pages and copies the rows of `from` to them. Returns false, and changes nothing, if too few
  /// pages are free, or if the store does not copy the rows. `from` stays in use. Waits for the store.
  bool relocate(std::span<const Page> from, std::span<Page> to);
  /// Updates the draining segments, and releases the memory of empty ones, except for those that keep it
  /// (`idle_segments`).
  void reap();
  /// Returns a count that increases whenever a segment changes.
  std::uint64_t changes() const { return changes_; }

  const std::string& group() const { return parts_.group; }
  const PageNeeds& needs() const { return parts_.needs; }
  /// Returns the component itself, for reading.
  const SlotAllocator& allocator() const;
  std::uint64_t free_pages() const { return raw_occupancy().free; }
  bool is_out(Page page) const;
  std::uint64_t longest_run() const;
  EvictionStrategy* eviction() const { return parts_.eviction.get(); }
  /// Returns the component itself. May be null (page numbers only).
  KVStore* store() const;
  StorePort* store_port() const { return parts_.store.get(); }
  /// Replaces the policy, and returns the previous one.
  std::shared_ptr<EvictionStrategy> use_policy(std::shared_ptr<EvictionStrategy> policy);
  /// Returns the most pages that the pool may have: the configured limit (kUnlimited: none), or its present size once
  /// the system has refused more memory. The pool tries again after it has handed out the number of pages of a segment,
  /// and after a number of calls of grow(), which doubles; a pool without pages tries each time.
  std::uint64_t limit() const { return refused_ ? offered() : parts_.limit; }
  /// Returns true if the system refused memory at the last try.
  bool was_refused() const { return refused_; }
  /// Returns a message with the figures of memory that the system refused. Empty if it refused none, or if the pool may
  /// have what was wanted since then.
  std::string memory() const;
  /// Returns the number of times that the system refused memory.
  std::uint64_t refusals() const { return refusals_; }
  std::uint32_t segment_pages() const { return parts_.segment_pages; }
  /// Returns the segments by number: segment i holds the pages from i * segment_pages on.
  std::span<const PoolSegment> segments() const { return segments_; }
  using HandedOut = PoolView::HandedOut;
  const HandedOut& handed_out() const { return handed_out_; }
  /// Returns the runs that the last allocation handed out, in its order.
  std::span<const Segment> last_runs() const { return last_runs_; }
  /// Returns the id of the request that a page was last handed to; 0: none. For reports of leaks.
  std::uint64_t last_owner(Page page) const {
    const std::size_t segment = page / parts_.segment_pages;
    return segment < owners_.size() && owners_[segment] ? owners_[segment][page % parts_.segment_pages] : 0;
  }

 private:
  Occupancy raw_occupancy() const;
  bool grow();
  bool grow_segment();
  bool may_try();
  PoolSegment* next_segment();
  bool back(PoolSegment& segment);
  void file(const PoolSegment& segment);
  template <class Each>
  bool take(std::span<Page> out, Each&& each);
  bool mark(Page first, std::size_t count, bool out);
  void refuse(std::span<const Page> taken, Page page);
  bool withdraw(PoolSegment& segment, std::uint32_t pages);
  std::uint64_t page_bytes() const;
  std::uint32_t number_of(const PoolSegment& segment) const { return segment.all.first / parts_.segment_pages; }
  std::uint64_t& owner(Page page) { return owners_[page / parts_.segment_pages][page % parts_.segment_pages]; }

  Components parts_;
  HandedOut handed_out_;
  std::vector<Segment> last_runs_;
  std::vector<PoolSegment> segments_;
  SegmentSet backed_, absent_;      ///< segments that can offer more pages, with memory and without
  std::uint64_t offered_ = 0;       ///< pages offered and not withdrawn, without page 0
  std::vector<std::uint64_t> out_;  ///< one bit per page: set while it is in use, independently of the allocator
  std::uint64_t draining_ = 0;      ///< draining pages in use at the last reap()
  std::uint64_t changes_ = 0;
  bool drained_ = false;  ///< a draining page was freed since then
  bool refused_ = false;  ///< the system refused memory
  std::uint64_t refusals_ = 0;
  std::uint64_t try_at_ = 0;           ///< total of pages handed out at which the pool tries again
  std::uint32_t calls_since_try_ = 0;  ///< calls of grow() since the last try
  std::uint32_t try_after_ = 1;        ///< number of such calls at which the pool tries again
  struct Freed {
    void operator()(std::uint64_t* memory) const { std::free(memory); }
  };
  /// Last owner by segment and page: zeroed memory, which takes no space before it is written.
  std::vector<std::unique_ptr<std::uint64_t[], Freed>> owners_;
};

}  // namespace canopy
