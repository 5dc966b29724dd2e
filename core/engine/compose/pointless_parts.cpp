#include <canopy/engine/engine_file.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "compose/make_component.h"
#include "tiers/cost_model.h"
#include "tiers/lane.h"

namespace canopy {

namespace {

/// Bytes that a token takes in the lanes; 0: that is not known.
std::uint64_t bytes_a_token(const EngineConfig& config, const Registry& registry) {
  if (config.host_tier.kv_bytes > 0) return config.host_tier.kv_bytes;
  std::uint64_t bytes = 0;
  for (const GroupConfig& group : config.groups) {
    const ComponentConfig& wanted = group.store.name.empty() ? config.store : group.store;
    if (wanted.name == "none") continue;
    const auto store = make_component<KVStore>(wanted, registry, {config.page_size, 1, 2});
    if (!store) return 0;
    bytes += (*store)->image_bytes() / config.page_size;
  }
  return bytes;
}

/// Why nothing is ever fetched through a lane, whatever a prompt is; empty: something is, or what it takes is not
/// known. `most`: tokens of the longest prompt.
std::string why_never_worth(const EngineConfig& config, const LaneConfig& lane, std::uint64_t most,
                            std::uint64_t bytes_a_token) {
  const CostModel costs(config.recompute);
  if (!costs.known() || lane.bandwidth == 0 || bytes_a_token == 0) return {};
  // The deeper the tokens, the dearer: the end of the longest prompt is worth most, and how much of it is tried out.
  constexpr std::uint64_t kTries = 256;
  const std::uint64_t longest = std::min<std::uint64_t>(most, std::uint64_t{1} << 31);
  for (std::uint64_t i = 1; i <= kTries; ++i) {
    const std::uint64_t count = std::max<std::uint64_t>(longest * i / kTries, std::min<std::uint64_t>(longest, 1));
    const auto depth = static_cast<Units>(longest - count);
    if (costs.worth(Lane(lane).ends_us(0, count * bytes_a_token), depth, static_cast<Units>(count))) return {};
  }
  const auto a_token = [&](std::uint64_t us) { return seconds(static_cast<double>(us) / 1e6 / 1000); };
  const auto end = static_cast<Units>(std::max<std::uint64_t>(longest, 1000) - 1000);
  return fmt::format(
      "a token of {} takes {} at {:.3g} GB/s, and computing one {} at most: nothing will be fetched from it",
      bytes(bytes_a_token), a_token(bytes_a_token * 1'000'000'000 / lane.bandwidth),
      static_cast<double>(lane.bandwidth) / 1e9, a_token(costs.allowed_us(end, 1000)));
}

void find_in_storage(const EngineConfig& config, std::uint64_t a_token, std::vector<std::string>& found) {
  const StorageTierConfig& storage = config.storage_tier;
  if (storage.in.name.empty()) return;
  const auto say = [&](const std::string& why) { found.push_back("tiers.storage is of no use: " + why); };
  if (config.host_tier.write == WritePolicy::none) say("nothing comes to the host tier that could leave for it");
  if (storage.write == PutPolicy::none)
    found.push_back("tiers.storage has what others put there, and nothing of this engine: `write: none`");
  else if (storage.write == PutPolicy::on_evict && storage.ahead == 0)
    say("with `ahead: 0` the host tier evicts for room alone, and what is evicted for room is not put");
  if (storage.least > config.groups[0].capacity)
    say(fmt::format("no prefix that fits the pools is as long as `least`, {} tokens", grouped(storage.least)));
  if (std::string why = why_never_worth(config, storage.lane, config.groups[0].capacity, a_token); !why.empty())
    say(why);
  if (storage.lane.bandwidth == 0 && storage.lane.latency > 0)
    found.push_back("tiers.storage.latency is of a simulated storage: without a bandwidth nothing is simulated");
}

}  // namespace

std::vector<std::string> pointless_parts(const EngineConfig& config, const Registry& registry) {
  std::vector<std::string> found;
  const HostTierConfig& tier = config.host_tier;
  if (tier.capacity == 0) return found;
  const std::uint64_t pool = config.groups[0].capacity, a_token = bytes_a_token(config, registry);
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
  if (std::string why = why_never_worth(config, tier.lane, pool, a_token); !why.empty()) say(why);
  if (config.recompute.learn && !CostModel(config.recompute).known())
    found.push_back("tiers.recompute.learn corrects figures, and there are none: expected `per_token` beside it");
  find_in_storage(config, a_token, found);
  return found;
}

}  // namespace canopy
