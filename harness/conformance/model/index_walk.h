#pragma once

#include "flat_index.h"
#include "operation.h"
#include "victim_order.h"

#include <canopy/eviction_strategy.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>

#include <string>
#include <vector>

namespace canopy::test {

/// A node as it was when the walk met it, spans copied.
struct WalkedNode {
  NodeFacts facts;
  NodeId parent{};
  std::vector<std::uint32_t> words;
  std::vector<Page> pages;
  std::uint32_t locks = 0;
};

std::vector<WalkedNode> walk(const PrefixIndex& index);

/// Compares everything the index shows of itself with both models and with the allocator, and the parts with
/// each other. O(nodes + pages); throws a Mismatch that names the node.
void check_whole(const PrefixIndex& index, const SlotAllocator& allocator, EvictionStrategy& policy,
                 const FlatIndex& flat, const VictimOrder& order, const WorldConfig& config);

/// The shape of a tree, parents before children: "0..4 4..8:full 4..6:-", the groups named where not all are
/// resident. `scale`: units in what depths are told in.
std::string shape_of(const PrefixIndex& index, const std::vector<std::string>& groups, Units scale);

}  // namespace canopy::test
