#include "guard/allocator_guard.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy {

Occupancy AllocatorGuard::possible(Occupancy said) const {
  wrong("occupancy",
        fmt::format("it says {} of {} pages are free, but {} were offered", said.free, said.capacity, offered_));
  return {offered_, std::min(said.free, offered_)};
}

SegmentUse AllocatorGuard::possible(Segment segment, SegmentUse said) const {
  wrong("use", fmt::format("it says {} pages of {} are out", said.out, segment.pages));
  return {segment.pages};
}

}  // namespace canopy
