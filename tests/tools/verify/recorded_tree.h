#pragma once

#include <canopy/prefix_index.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
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

/// The first of each page, from a list of one slot a token. Throws BadValue unless they are whole pages of slots in a
/// row: the first stands for the others in every comparison.
std::vector<std::uint64_t> first_of_pages(std::span<const std::uint32_t> slots, const std::string& called, Units page);

/// Depth first, siblings by their first slot: of a recorded tree, and of an index. Throws BadValue.
std::vector<RecordedNode> recorded_tree(const nlohmann::json& tree, Units page);
std::vector<RecordedNode> tree_of(const PrefixIndex& index);

}  // namespace canopy::verify
