#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// One KV cache group of a world. Empty or 0: the world's setting.
struct GroupSettings {
  std::string name;
  Units reach = kWholePath;    ///< in printed depths
  std::uint32_t capacity = 0;  ///< pages
  std::string policy;
};

/// The configuration of the world in which a program runs.
struct WorldConfig {
  std::string index = "radix", options = "{}", policy = "lru", policy_options = "{}", allocator = "free_list";
  Units page_size = 4, overlap = 0;
  std::uint32_t capacity = 64;  ///< pages
  std::uint32_t namespaces = 1;
  std::vector<GroupSettings> groups;  ///< empty: one group with the whole path
  /// Tenants among which a random program assigns its namespaces; 0: it assigns none.
  std::uint32_t tenants = 0;
  std::vector<std::string> tenant_policies{"fifo", "lfu", "lru"};  ///< policies that it gives to tenants
  bool requests = false;                  ///< true: an Engine and requests; false: an index and locks
  bool words_are_pages = false;           ///< true: each word of a key is one page, and depths are printed in pages
  bool insert_at_finish = true;           ///< setting of an Engine
  bool scenario = false;                  ///< hand-written lines: every name must exist, and results are complete
  std::vector<std::string> other_groups;  ///< groups of the same scenario in another world; skipped in this one
  std::uint32_t walk_every = 1'000;       ///< operations between two complete walks
};

/// Returns the first line of a scenario.
std::string text_of(const WorldConfig& config);
/// Parses it. Throws a Mismatch if it cannot.
WorldConfig config_of(std::string_view line);

/// Returns the number of a group, 0 without a name; nothing for one that only other worlds of the scenario have.
std::optional<std::size_t> group_in(const WorldConfig& config, const std::string& name);

/// Returns the words of a key as the world uses them.
std::vector<std::uint32_t> words_in(const WorldConfig& config, const std::vector<std::uint32_t>& words);

}  // namespace canopy::test
