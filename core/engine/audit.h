#pragma once

#include <canopy/engine/state.h>

namespace canopy {

/// Proves that every page has one owner and every row names the pages that its lock holds: O(pool). What is wrong goes
/// to the ledger.
void audit(EngineState& state);

}  // namespace canopy
