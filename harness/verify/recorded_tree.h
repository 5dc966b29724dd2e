#pragma once

#include <canopy/prefix_index.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace canopy::verify {

/// One node as recordings write it.
struct RecordedNode {
  std::uint32_t depth = 0;
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint64_t> slots;  ///< the first of each page
  std::uint64_t locks = 0, hits = 0, last_access = 0, created = 0;
  std::int64_t priority = 0;
  std::string text() const;
};

/// The first of each page, from a list of one slot a token.
std::vector<std::uint64_t> first_of_pages(const nlohmann::json& slots, Units page);

/// Depth first, siblings by their first slot: of a recorded tree, and of an index.
std::vector<RecordedNode> recorded_tree(const nlohmann::json& tree, Units page);
std::vector<RecordedNode> tree_of(const PrefixIndex& index);

}  // namespace canopy::verify
