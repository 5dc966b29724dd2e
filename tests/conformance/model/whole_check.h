#pragma once

#include "flat_index.h"
#include "part.h"
#include "victim_order.h"
#include "world_config.h"

#include <canopy/tenant_index.h>

namespace canopy::test {

/// Compares the whole state of the index with the models and the allocators, and the parts with each other. `order` may
/// be null (there is no model of it), and so may `tenants` (no namespace was assigned). O(nodes + pages); throws a
/// Mismatch that names the node.
void check_whole(const PrefixIndex& index, const TenantIndex* tenants, const std::vector<Part>& parts,
                 const FlatIndex& flat, const VictimOrder* order, const WorldConfig& config);

}  // namespace canopy::test
