#include <canopy/engine/engine_file.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

namespace canopy {

namespace {

void find_in_storage(const EngineConfig& config, std::vector<std::string>& found) {
  const StorageTierConfig& storage = config.storage_tier;
  if (storage.in.name.empty()) return;
  const auto say = [&](const std::string& why) { found.push_back("tiers.storage is of no use: " + why); };
  if (config.host_tier.write == WritePolicy::none) say("nothing comes to the host tier that could leave for it");
  if (storage.write == PutPolicy::none)
    found.push_back("tiers.storage has what others put there, and nothing of this engine: `write: none`");
  else if (storage.ahead == 0)
    say("with `ahead: 0` the host tier evicts for room alone, and what is evicted for room is not put");
  if (storage.least > config.groups[0].capacity)
    say(fmt::format("no prefix that fits the pools is as long as `least`, {} tokens", grouped(storage.least)));
  if (storage.lane.bandwidth == 0 && storage.lane.latency > 0)
    found.push_back("tiers.storage.latency is of a simulated storage: without a bandwidth nothing is simulated");
}

}  // namespace

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
  find_in_storage(config, found);
  return found;
}

}  // namespace canopy
