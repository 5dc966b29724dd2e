#pragma once

#include <cstdint>
#include <vector>

#include "history.h"

namespace canopy::lab {

/// LRU at all capacities from one pass over a trace (stack distances: Mattson et al., IBM Systems Journal 9, 1970).
///
/// If leaves are trimmed unit by unit, LRU orders units by their last request, and the units of one request by depth:
/// deeper ones are evicted first. A pool of C units holds the first C of that order for every C, so a unit is resident
/// if fewer than C units precede it. `canopy replay` evicts whole nodes and holds slightly fewer or more. A request
/// larger than the pool keeps its first units here and is rejected there.
class Stack {
 public:
  /// REQUIRES: `history` outlives it and gets no further requests.
  explicit Stack(const History& history);

  /// Returns the units of a request that are resident in a pool of `capacity` units when it arrives.
  Units hits(std::uint32_t request, std::uint64_t capacity) const;
  /// Returns the number of units that precede the first unit of each reuse, in the order of the requests.
  const std::vector<std::uint64_t>& before() const { return before_; }

 private:
  const History& history_;
  std::vector<std::uint64_t> before_;
  std::vector<std::size_t> first_;  ///< first of each request in before_
};

}  // namespace canopy::lab
