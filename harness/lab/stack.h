#pragma once

#include <cstdint>
#include <vector>

#include "history.h"

namespace canopy::lab {

/// LRU at all capacities at once, from one pass over a trace (stack distances: Mattson et al., IBM Systems Journal 9,
/// 1970).
///
/// Where leaves are trimmed unit by unit, LRU orders units by the last request that asked for them, and those of one
/// request by depth: what lies deeper is evicted first. A pool of C units holds the first C of that order, whatever C
/// is, so a unit is resident where fewer than C units lie before it. `canopy replay` evicts whole nodes and holds a
/// little less or more; a request larger than the pool keeps its first units here and is rejected there.
class Stack {
 public:
  /// REQUIRES: `history` outlives it, and gets no more requests.
  explicit Stack(const History& history);

  /// Units of a request that are resident in a pool of `capacity` units when it comes.
  Units hits(std::uint32_t request, std::uint64_t capacity) const;
  /// For each reuse, in the order of the requests: how many units lie before its first.
  const std::vector<std::uint64_t>& before() const { return before_; }

 private:
  const History& history_;
  std::vector<std::uint64_t> before_;
  std::vector<std::size_t> first_;  ///< of each request's, in before_
};

}  // namespace canopy::lab
