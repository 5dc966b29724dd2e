#pragma once

#include <canopy/engine/page_needs.h>
#include <canopy/eviction_strategy.h>
#include <canopy/feed/event.h>
#include <canopy/kv_store.h>
#include <canopy/slot_allocator.h>
#include <canopy/support/result.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace canopy {

class Guard;

/// A segment of a pool: the pages that it gives memory to at once, and how it stands with them.
struct PoolSegment {
  Segment all;
  std::uint32_t offered = 0;   ///< pages from its first on, page 0 counted
  std::uint32_t draining = 0;  ///< of the others, those that are out
  bool backed = false;
  SegmentState state() const {
    return !backed    ? SegmentState::absent
           : draining ? SegmentState::draining
           : offered  ? SegmentState::offered
                      : SegmentState::idle;
  }
};

/// The pages of one KV cache group: where the allocator's numbers and the store's memory meet, since neither knows the
/// other. It grows a segment at a time as far as its limit and the system's memory allow, before a node is evicted.
/// Under a lower limit the emptiest segments drain: their pages are not handed out again. When the last one has come
/// back (or was relocated by the engine), the memory goes back to the system. Segment 0 stays, for page 0.
class Pool {
 public:
  struct Parts {
    std::string group;
    PageNeeds needs;
    std::shared_ptr<SlotAllocator> allocator;
    std::shared_ptr<EvictionStrategy> eviction;
    std::shared_ptr<KVStore> store;    ///< null: page numbers only
    std::uint64_t limit = kUnlimited;  ///< pages, page 0 not counted
    std::uint64_t start = 0;           ///< pages it has from the start; not above the limit
    std::uint32_t segment_pages = 1;   ///< the store's, if there is one
    std::uint32_t idle_segments = 0;   ///< empty ones that keep their memory
    const Guard* told = nullptr;       ///< of pages that the allocator cannot have; it lives as long as the allocator
  };
  explicit Pool(Parts parts) : parts_(std::move(parts)) {}

  /// Takes what it has from the start. An error if there is memory for no page at all; with less memory than
  /// wanted the pool begins smaller, and memory() says so.
  Result<std::monostate> open();

  /// Fills `out` with pages for `owner`; false, and nothing has changed, if so many are not free.
  bool allocate(std::span<Page> out, std::uint64_t owner);
  /// How many pages short of `count` the pool is, after growing as far as it may.
  std::uint64_t shortfall(std::uint64_t count);
  /// False, and nothing has changed, if one of them was not out: a caller freed a page that it did not own.
  bool free(std::span<const Page> pages);

  /// Every page that is free or has an owner: capacity counts draining pages that are out as well.
  Occupancy occupancy() const;
  /// Pages that may be handed out or are, without draining ones.
  std::uint64_t offered() const { return offered_; }
  /// Pages it may grow by, as far as it knows: the system may have less memory.
  std::uint64_t growable() const;

  /// A new limit in pages, at least 1. A higher one changes nothing yet, except that draining segments stay.
  void resize(std::uint64_t limit);
  /// Whether pages are out in draining segments.
  bool draining() const { return draining_ > 0; }
  /// Whether a page lies in the draining part of a segment.
  bool drains(Page page) const;
  /// Pages that are out beyond the limit.
  std::uint64_t surplus() const;
  /// Other pages for `from`, with what their rows hold; false, and nothing has changed, if so many are not free.
  /// `from` is still out.
  bool relocate(std::span<const Page> from, std::span<Page> to);
  /// Looks at the draining segments, and gives back the memory of those that have become empty, except for the idle
  /// ones that it may keep.
  void reap();
  /// Increases whenever a segment changes.
  std::uint64_t changes() const { return changes_; }

  const std::string& group() const { return parts_.group; }
  const PageNeeds& needs() const { return parts_.needs; }
  SlotAllocator& allocator() { return *parts_.allocator; }
  const SlotAllocator& allocator() const { return *parts_.allocator; }
  EvictionStrategy* eviction() const { return parts_.eviction.get(); }
  KVStore* store() const { return parts_.store.get(); }
  /// The policy that was in use lives on until the pool no longer needs it. Returns the new one.
  EvictionStrategy* use_policy(std::shared_ptr<EvictionStrategy> policy);
  /// Pages it may ever have: as it was told or, once the system refused more memory, as far as it got. Then it
  /// asks again whenever a segment's worth of pages has been handed out since. kUnlimited while nothing limits it.
  std::uint64_t limit() const { return refused_ ? offered() : parts_.limit; }
  /// A sentence about memory that was wanted and refused, with the arithmetic; empty if none was.
  std::string memory() const;
  std::uint32_t segment_pages() const { return parts_.segment_pages; }
  /// By number: segment i holds the pages from i * segment_pages on.
  std::span<const PoolSegment> segments() const { return segments_; }
  /// What was ever handed out, and in how many runs of page numbers in a row: pages / runs is what a bulk copy can
  /// take at once.
  struct HandedOut {
    std::uint64_t pages = 0, runs = 0;
  };
  const HandedOut& handed_out() const { return handed_out_; }
  /// What the last allocation handed out, in its order.
  std::span<const Segment> last_runs() const { return last_runs_; }
  /// The request that a page was last handed to, for leak reports.
  std::uint64_t last_owner(Page page) const {
    const std::size_t segment = page / parts_.segment_pages;
    return segment < owners_.size() && owners_[segment] ? owners_[segment][page % parts_.segment_pages] : 0;
  }

 private:
  bool grow();
  bool back(PoolSegment& segment);
  template <class Each>
  bool take(std::span<Page> out, Each&& each);
  bool mark(Page first, std::size_t count, bool out);
  void refuse(std::span<const Page> taken, Page page);
  void withdraw(PoolSegment& segment, std::uint32_t pages);
  std::uint64_t page_bytes() const;
  std::uint32_t number_of(const PoolSegment& segment) const { return segment.all.first / parts_.segment_pages; }
  std::uint64_t& owner(Page page) { return owners_[page / parts_.segment_pages][page % parts_.segment_pages]; }

  Parts parts_;
  HandedOut handed_out_;
  std::vector<Segment> last_runs_;
  std::vector<PoolSegment> segments_;
  std::uint64_t offered_ = 0;       ///< pages offered and not withdrawn, page 0 not counted
  std::vector<std::uint64_t> out_;  ///< a bit for each page: it is out, whatever the allocator says
  std::uint64_t draining_ = 0;      ///< draining pages that were out when reap last looked
  std::uint64_t changes_ = 0;
  bool refused_ = false;      ///< the system had no more memory ...
  std::uint64_t ask_at_ = 0;  ///< ... and is asked again when so many pages have been handed out
  struct Freed {
    void operator()(std::uint64_t* memory) const { std::free(memory); }
  };
  /// By segment and page: zeroed memory that costs nothing until it is written.
  std::vector<std::unique_ptr<std::uint64_t[], Freed>> owners_;
};

}  // namespace canopy
