#pragma once

#include <canopy/scheduling/waiting_order.h>

#include <vector>

namespace canopy::scheduling {

/// In-batch prefix caching: which requests come last in this pass, since an earlier one begins with the same
/// `rules.shared` tokens. SGLang inserts the requests into a tree that it throws away. Only the first `shared` tokens
/// can decide, so a set of those does.
std::vector<bool> deferred(std::span<const Waiter> waiting, const Rules& rules);

}  // namespace canopy::scheduling
