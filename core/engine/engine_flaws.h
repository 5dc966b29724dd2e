#pragma once

#include <canopy/engine/engine_config.h>

#include <limits>
#include <string>
#include <string_view>

namespace canopy {

inline constexpr std::uint64_t kMaxPages = std::numeric_limits<Page>::max() - 1;  // page 0 is never handed out
/// Most pages that a pool without a `start` allocates at once: 512 MiB of bookkeeping, which takes a second or two to
/// write.
inline constexpr std::uint64_t kMaxStartPages = std::uint64_t{1} << 26;
inline constexpr const char* kGroupNames = "a small letter, then small letters, digits and '_'";

bool is_group_name(std::string_view name);

// Each returns an error message about conflicting keys of one part, to be appended to the part's name. Empty if there
// is none. A page size of 0 is unknown.
std::string flaw(const GroupConfig& group, Units page_size);
std::string flaw(const KVEventsConfig& events);
std::string flaw(const ModelConfig& model);
std::string flaw_of_tenants(const EngineConfig& engine);
std::string flaw_of_groups(const EngineConfig& engine);
std::string flaw_of_tiers(const EngineConfig& engine);
std::string flaw_of_host_tier(const EngineConfig& engine);
std::string flaw_of_storage(const EngineConfig& engine);

/// Returns an error message about the first value of a configuration that is out of range or does not fit the others.
/// Empty if all are valid. Components are not checked here: they are created later.
std::string flaw_of(const EngineConfig& config);

/// Returns the pages of a group in the host tier: the configured tokens for the first group, and in proportion to its
/// pool for each other group.
std::uint64_t host_tier_pages(const EngineConfig& engine, std::size_t group);

}  // namespace canopy
