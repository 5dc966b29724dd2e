#include <canopy/engine/engine_file.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

namespace canopy {

std::vector<std::string> pointless_parts(const EngineConfig& config) {
  std::vector<std::string> found;
  const HostTierConfig& tier = config.host_tier;
  if (tier.capacity == 0) return found;
  const std::uint64_t pool = config.groups[0].capacity;
  const auto say = [&](const std::string& why) { found.push_back("tiers.host is of no use: " + why); };
  if (config.index.name == "null") say("the index 'null' keeps nothing that could leave for it");
  else if (tier.write == WritePolicy::none) say("with `write: none` nothing is copied to it");
  else if (tier.write == WritePolicy::write_through && tier.capacity <= pool)
    say(fmt::format(
        "under write_through it has the newest of what was inserted, and so has the pool: {} tokens are not "
        "more than the pool's {}; expected a larger capacity, or write_back",
        grouped(tier.capacity), grouped(pool)));
  if (tier.least > tier.capacity)
    say(fmt::format("no prefix that it can have is as long as `least`, {} tokens", grouped(tier.least)));
  return found;
}

}  // namespace canopy
