#pragma once

#include <canopy/engine/state.h>

namespace canopy {

/// Proves that every page has one owner and every row names the pages that its lock holds: O(pool). What is wrong goes
/// to the ledger. `moving`: pages that transfers fill and no request has, by group.
void audit(EngineState& state, const std::array<std::vector<Page>, kMaxGroups>& moving);

}  // namespace canopy
