#pragma once
/// How events use the fields of Event: helpers of their encode and decode functions, and of no other code.

#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <array>

namespace canopy::event {

namespace detail {

constexpr std::uint64_t bits(NodeId id) { return static_cast<std::uint64_t>(id); }
constexpr std::uint64_t pair(std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32; }
constexpr std::uint32_t low(std::uint64_t two) { return static_cast<std::uint32_t>(two); }
constexpr std::uint32_t high(std::uint64_t two) { return static_cast<std::uint32_t>(two >> 32); }
constexpr std::uint64_t run(Segment pages) { return pair(pages.first, pages.pages); }
constexpr Segment run(std::uint64_t pages) { return {low(pages), high(pages)}; }

}  // namespace detail

/// Two runs of page numbers, one behind the other; a run without pages is none. REQUIRES: the first run is not empty.
using TwoRuns = std::array<Segment, 2>;

}  // namespace canopy::event
