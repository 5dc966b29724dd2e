#pragma once

#include <canopy/prefix_index.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace canopy::verify {

/// One node of a recording.
struct RecordedNode {
  std::uint32_t depth = 0;
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint64_t> slots;  ///< first slot of each page
  std::uint64_t locks = 0, hits = 0, last_access = 0, created = 0;
  std::int64_t priority = 0;
  std::string text() const;
};

/// Returns the first slot of each page, from a list of one slot for each token. Throws BadValue unless they are whole
/// pages of consecutive slots, because comparisons use only the first one.
std::vector<std::uint64_t> first_of_pages(std::span<const std::uint32_t> slots, const std::string& called, Units page);

/// Returns the nodes of a recorded tree, depth first, siblings by their first slot. Throws BadValue. tree_of() does the
/// same for an index.
std::vector<RecordedNode> recorded_tree(const nlohmann::json& tree, Units page);
std::vector<RecordedNode> tree_of(const PrefixIndex& index);

}  // namespace canopy::verify
