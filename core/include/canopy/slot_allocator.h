#pragma once

#include <canopy/types.h>

namespace canopy {

struct Occupancy {
  std::uint64_t capacity = 0;  ///< pages offered and not withdrawn, page 0 not counted
  std::uint64_t free = 0;      ///< pages among those that can be handed out now
};

struct SegmentUse {
  std::uint32_t out = 0;  ///< pages handed out and not yet freed
};

/// Hands out the page numbers of one pool: numbers, not memory. It starts empty and serves the segments it is offered.
/// Page 0 is never handed out, even if a segment contains it. No call costs more for a larger pool, except where it
/// says so.
///
/// Thread: the engine's. Errors: return values. Exceptions: none; the engine records one that escapes as a violation
/// and takes the call as failed. Memory: in proportion to the pages offered.
class SlotAllocator {
 public:
  static constexpr const char* kInterface = "canopy.SlotAllocator/1.0";
  struct Context {
    std::uint32_t segment_pages = 0;  ///< pages of the pool's segments; 0: not known
  };
  virtual ~SlotAllocator() = default;

  /// Fills all of `out`; or returns false, and nothing has changed, because fewer pages are free.
  virtual bool allocate(std::span<Page> out) = 0;
  /// Returns false, and nothing has changed, if a page is not handed out or is listed twice: a bug of the caller.
  virtual bool free(std::span<const Page> pages) = 0;
  virtual Occupancy occupancy() const = 0;

  /// Allows these pages to be handed out from now on. REQUIRES: none of them was offered and not withdrawn.
  virtual void offer(Segment segment) = 0;
  /// Stops handing out these pages. Pages that are out stay valid, and are not handed out again after they are freed.
  /// May cost O(free pages). REQUIRES: all of them were offered and not withdrawn since, in whatever pieces.
  virtual void withdraw(Segment segment) = 0;
  virtual SegmentUse use(Segment segment) const = 0;

  /// Returns true if `page` is handed out. For checkers.
  virtual bool is_out(Page page) const = 0;
  /// Returns the length of the longest run of free pages. O(pool); for reports on fragmentation.
  virtual std::uint64_t longest_run() const = 0;
};

}  // namespace canopy
