#pragma once

#include <cstdint>
#include <vector>

#include "history.h"

namespace canopy::lab {

/// The most that any cache of `capacity` units can reuse of each request, were it told the future: the exact offline
/// optimum, by Belady's rule (Systems Journal 5, 1966) over prefixes.
///
/// What a cache can win is keeping a unit from the request that asked for it last to the one that asks again. While
/// a request runs, all its units are resident, so others have `capacity` less the request's units. Units are of one
/// size, so dropping those that are asked for last, whenever there is no room, keeps the most of them. Of one prompt
/// the deepest go first: a prefix has no gap, and since a unit is never asked for later than what continues it, the
/// tree has a leaf to evict. Admitting nothing is no gain, because a running request needs its room anyway.
///
/// A request larger than the pool keeps what fits of it, while `canopy replay` rejects it: at such capacities the
/// figure is a bound that nothing may reach. Needs O(reuses log reuses).
std::vector<Units> optimum(const History& history, std::uint64_t capacity);

}  // namespace canopy::lab
