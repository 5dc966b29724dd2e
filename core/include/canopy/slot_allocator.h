#pragma once

#include <canopy/types.h>

namespace canopy {

/// Pages of a pool, without page 0.
struct Occupancy {
  std::uint64_t capacity = 0;  ///< pages offered and not withdrawn
  std::uint64_t free = 0;      ///< those of them that can be handed out now
};

struct SegmentUse {
  std::uint32_t out = 0;  ///< pages handed out and not yet freed
};

/// Hands out the page numbers of one pool: numbers, not memory. It starts empty and serves the segments it is offered.
/// Page 0 is never handed out, even if a segment contains it. The cost of a call does not grow with the pool, except
/// where its comment gives one.
///
/// Thread: the engine's.
/// Errors: in results.
/// Exceptions: none may escape, except std::bad_alloc from a call that has changed nothing. The engine records a
/// violation and treats the call as failed: an offer or a withdrawal is then not counted, and made again later.
/// Memory: in proportion to the pages offered.
class SlotAllocator {
 public:
  static constexpr const char* kInterface = "canopy.SlotAllocator/1.0";
  struct Context {
    std::uint32_t segment_pages = 0;  ///< pages of the pool's segments; 0: not known
  };
  virtual ~SlotAllocator() = default;

  /// Fills `out` with free pages. Returns false, and changes nothing, if fewer pages are free, or for want of memory.
  virtual bool allocate(std::span<Page> out) = 0;
  /// Frees pages. Returns false, and changes nothing, if a page is not handed out or is listed twice: a caller's bug.
  virtual bool free(std::span<const Page> pages) = 0;
  virtual Occupancy occupancy() const = 0;

  /// Allows these pages to be handed out from now on. REQUIRES: none of them is offered already.
  virtual void offer(Segment segment) = 0;
  /// Stops handing out these pages. Those in use stay valid, and are not handed out again after they are freed. May
  /// cost O(free pages). REQUIRES: all of them are offered, by one or several calls.
  virtual void withdraw(Segment segment) = 0;
  virtual SegmentUse use(Segment segment) const = 0;

  /// Returns true if `page` is handed out. For checks.
  virtual bool is_out(Page page) const = 0;
  /// Returns the length of the longest run of free pages. Costs O(pool); for reports on fragmentation.
  virtual std::uint64_t longest_run() const = 0;
};

}  // namespace canopy
