#pragma once

#include <canopy/types.h>

namespace canopy {

struct Occupancy {
  std::uint64_t capacity = 0;  ///< pages offered and not withdrawn, page 0 not counted
  std::uint64_t free = 0;      ///< of those, pages that can be handed out now
};

struct SegmentUse {
  std::uint32_t out = 0;  ///< pages handed out and not yet freed
};

/// Hands out the page numbers of one pool: numbers, not memory. It starts empty and serves what it is
/// offered. Page 0 is never handed out, even if a segment contains it. No call costs more for a larger pool,
/// except where it says so.
class SlotAllocator {
 public:
  static constexpr const char* kInterface = "canopy.SlotAllocator/1";
  struct Context {
    std::uint32_t segment_pages = 0;  ///< the pool's; 0: not known
  };
  virtual ~SlotAllocator() = default;

  /// Fills all of `out`; or returns false, and nothing has changed, because fewer pages are free.
  virtual bool allocate(std::span<Page> out) = 0;
  /// False, and nothing has changed, if a page is not handed out or is listed twice: a bug of the caller.
  virtual bool free(std::span<const Page> pages) = 0;
  virtual Occupancy occupancy() const = 0;

  /// These pages may be handed out from now on. REQUIRES: none of them was offered and not withdrawn.
  virtual void offer(Segment segment) = 0;
  /// None of these is handed out any more; those that are out stay valid. After they are freed they are not handed
  /// out again. May cost O(free pages). REQUIRES: all of them were offered and not withdrawn
  /// since, in whatever pieces.
  virtual void withdraw(Segment segment) = 0;
  virtual SegmentUse use(Segment segment) const = 0;

  /// Whether `page` is handed out. For checkers.
  virtual bool is_out(Page page) const = 0;
  /// Free neighbours in a row: what a bulk copy would like. O(pool); for reports.
  virtual std::uint64_t longest_run() const = 0;
};

}  // namespace canopy
