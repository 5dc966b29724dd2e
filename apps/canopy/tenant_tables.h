#pragma once

#include <canopy/engine/tenants.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "terminal.h"

namespace canopy::app {

/// Prints the tenants with the most cached tokens, at most `most` of them, then the sum of the rest, and which paid for
/// which. `pool_tokens`: tokens of the first group's pool, kUnlimited if it has no limit. Omits a column that is empty
/// for all tenants.
void print_tenants(std::vector<TenantUse> tenants, const std::vector<TenantPayment>& payments,
                   std::uint64_t pool_tokens, std::size_t most, const Terminal& terminal);

}  // namespace canopy::app
