#pragma once

#include <canopy/engine/waiting_order.h>

#include <vector>

namespace canopy::scheduling {

/// Returns the requests that come last in this pass, because an earlier one begins with the same `rules.shared` tokens
/// (in-batch prefix caching). SGLang inserts the requests into a temporary tree. Only the first `shared` tokens matter,
/// so a set of those gives the same result.
std::vector<bool> deferred(std::span<const Waiter> waiting, const Rules& rules);

}  // namespace canopy::scheduling
