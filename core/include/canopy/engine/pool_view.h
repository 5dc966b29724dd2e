#pragma once

#include <canopy/engine/page_needs.h>
#include <canopy/feed/event.h>
#include <canopy/slot_allocator.h>

#include <cstdint>
#include <span>
#include <string>

namespace canopy {

class Pool;

/// A segment of a pool: the pages whose memory the pool allocates in one piece, and their state.
struct PoolSegment {
  Segment all;
  std::uint32_t offered = 0;   ///< offered pages, from the first of the segment on, including page 0
  std::uint32_t draining = 0;  ///< pages in use after the offered ones
  bool backed = false;         ///< true if the segment has memory
  SegmentState state() const {
    return !backed    ? SegmentState::absent
           : draining ? SegmentState::draining
           : offered  ? SegmentState::offered
                      : SegmentState::idle;
  }
};

/// A holder of pages that a draining pool waits for: a request, or, if `request` is 0, a node that is pinned or under
/// retention.
struct Blocker {
  std::uint64_t request = 0;
  NodeId pinned{};
  std::uint64_t pages = 0;
};

/// The pool of one KV cache group, for reading: which pages there are, and what memory they have. Only the engine
/// changes a pool (Engine::resize, make_free). Valid as long as its engine.
class PoolView {
 public:
  explicit PoolView(const Pool& pool) : pool_(&pool) {}

  const std::string& group() const;
  const PageNeeds& needs() const;
  /// Returns the most pages that the pool may have: the configured limit (kUnlimited: none), or its present size once
  /// the system has refused more memory.
  std::uint64_t limit() const;
  /// Returns the free pages, and all pages that are free or in use, including draining ones.
  Occupancy occupancy() const;
  /// Returns the number of pages that are free or in use, without draining ones.
  std::uint64_t offered() const;
  std::uint64_t free_pages() const;
  /// Returns the number of pages by which the pool may grow; the system may have less memory than that.
  std::uint64_t growable() const;
  /// Returns the number of pages in use above the limit.
  std::uint64_t surplus() const;
  /// Returns true if pages are in use in draining segments.
  bool draining() const;
  bool is_out(Page page) const;
  /// Returns the largest number of free pages with consecutive numbers.
  std::uint64_t longest_run() const;
  /// Returns the id of the request that a page was last handed to; 0: none. For reports of leaks.
  std::uint64_t last_owner(Page page) const;
  std::uint32_t segment_pages() const;
  /// Returns the segments by number: segment i holds the pages from i * segment_pages on. The list is valid until the
  /// next call of the engine.
  std::span<const PoolSegment> segments() const;
  /// Pages handed out so far, and the number of runs of consecutive page numbers among them: pages / runs is the mean
  /// size of a bulk copy.
  struct HandedOut {
    std::uint64_t pages = 0, runs = 0;
  };
  HandedOut handed_out() const;
  /// Returns a message with the figures of memory that the system refused. Empty if it refused none, or if the pool may
  /// have what was wanted since then.
  std::string memory() const;
  /// Returns the number of times that the system refused memory.
  std::uint64_t refusals() const;

 private:
  const Pool* pool_;
};

}  // namespace canopy
