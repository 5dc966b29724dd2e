#pragma once

#include <cstdint>
#include <vector>

#include "history.h"

namespace canopy::lab {

/// Returns the most units of each request that any cache of `capacity` units can reuse with knowledge of the future:
/// the exact offline optimum, by Belady's rule (Systems Journal 5, 1966) over prefixes.
///
/// A cache gains by keeping a unit from its last request to the next one. While a request runs, all its units are
/// resident, so others have `capacity` minus the request's units. All units have the same size, so evicting the units
/// with the latest next request, whenever there is no room, keeps the most units. Within a prompt the deepest are
/// evicted first: a prefix has no gap, and the next request for a unit is never later than for its continuations, so
/// the tree always has a leaf to evict. Admitting nothing is no gain, because a running request needs its room anyway.
///
/// A request larger than the pool keeps its first units here, while `canopy replay` rejects it: at such capacities the
/// figure is a bound that may be unreachable. Costs O(reuses log reuses).
std::vector<Units> optimum(const History& history, std::uint64_t capacity);

}  // namespace canopy::lab
