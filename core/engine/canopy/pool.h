#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/kv_store.h>
#include <canopy/page_needs.h>
#include <canopy/result.h>
#include <canopy/slot_allocator.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace canopy {

/// The pages of one KV cache group: where the allocator's numbers and the store's memory meet, since neither
/// knows the other. Grows a segment at a time up to its capacity.
class Pool {
 public:
  struct Parts {
    std::string group;
    PageNeeds needs;
    std::shared_ptr<SlotAllocator> allocator;
    std::shared_ptr<EvictionStrategy> eviction;
    std::shared_ptr<KVStore> store;       ///< null: page numbers only
    std::uint64_t capacity = kUnlimited;  ///< pages, page 0 not counted
    std::uint32_t segment_pages = 1;
  };
  explicit Pool(Parts parts) : parts_(std::move(parts)) {}

  /// A pool of limited capacity has all of its segments from the start.
  Result<std::monostate> open();

  /// Fills `out` with pages for `holder`; false, and nothing has changed, if so many are not free.
  bool allocate(std::span<Page> out, std::uint64_t holder);
  /// How many pages short of `count` the pool is, after growing as far as it may.
  std::uint64_t shortfall(std::uint64_t count);
  /// False, and nothing has changed, if one of them was not out: somebody freed a page that was not theirs.
  bool free(std::span<const Page> pages) { return parts_.allocator->free(pages); }

  const std::string& group() const { return parts_.group; }
  const PageNeeds& needs() const { return parts_.needs; }
  SlotAllocator& allocator() { return *parts_.allocator; }
  const SlotAllocator& allocator() const { return *parts_.allocator; }
  EvictionStrategy* eviction() const { return parts_.eviction.get(); }
  KVStore* store() const { return parts_.store.get(); }
  /// The policy that was in use lives on until the pool no longer needs it. Returns the new one.
  EvictionStrategy* use_policy(std::shared_ptr<EvictionStrategy> policy);
  /// Pages; kUnlimited while nothing limits it.
  std::uint64_t limit() const { return parts_.capacity; }
  std::uint32_t segment_pages() const { return parts_.segment_pages; }
  std::span<const Segment> segments() const { return segments_; }
  /// What was ever handed out, and in how many runs of page numbers in a row: pages / runs is what a bulk copy can
  /// take at once.
  struct HandedOut {
    std::uint64_t pages = 0, runs = 0;
  };
  const HandedOut& handed_out() const { return handed_out_; }
  /// The request that a page was last handed to, for leak reports.
  std::uint64_t last_holder(Page page) const {
    const std::size_t segment = page / parts_.segment_pages;
    return segment < holders_.size() ? holders_[segment][page % parts_.segment_pages] : 0;
  }

 private:
  bool grow();

  Parts parts_;
  HandedOut handed_out_;
  std::vector<Segment> segments_;
  struct Freed {
    void operator()(std::uint64_t* memory) const { std::free(memory); }
  };
  /// By segment and page: zeroed memory that costs nothing until it is written.
  std::vector<std::unique_ptr<std::uint64_t[], Freed>> holders_;
};

}  // namespace canopy
