#include "composition.h"

#include <canopy/base/random.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

namespace canopy::check {
namespace {

constexpr const char* kAccountings[] = {"default", "sglang", "sglang_unified"};
constexpr const char* kStore = "{ host: { layers: 2, streams: { k: 8, v: 4 } } }";

template <class List>
const auto& one_of(Random& random, const List& list) {
  return list[random.below(static_cast<std::uint32_t>(std::size(list)))];
}

/// Returns the pages of a pool: one pool in three runs out of pages all the time, one in three never.
std::uint64_t some_pages(Random& random) {
  constexpr std::uint32_t kLeast[] = {12, 60, 250};
  const std::uint32_t least = one_of(random, kLeast);
  return least + random.below(2 * least);
}

/// Returns a group's `reach` and `every`.
std::string reach_of(Random& random, bool whole_path, Units page) {
  if (whole_path) return "reach: path";
  // If only one page in several is kept, it serves a boundary only if the reach ends in it.
  const std::uint32_t every = random.one_in(3) ? 1 + random.below(4) : 1;
  const std::uint32_t reach = 1 + random.below(every > 1 || random.one_in(2) ? page : 5 * page);
  return fmt::format("reach: {}{}", reach, every > 1 ? fmt::format(", every: {}", every * page) : "");
}

std::string group_of(Random& random, std::size_t number, bool whole_path, Units page, const Registry& registry) {
  const std::uint64_t pages = some_pages(random);
  const bool limited = !random.one_in(12);
  std::string text = fmt::format(
      "  {}: {{ {}, capacity: {}, allocator: {}, eviction: {}", number == 0 ? "full" : fmt::format("part_{}", number),
      reach_of(random, whole_path, page), limited ? std::to_string(pages * page) : "unlimited",
      one_of(random, std::vector<std::string>{"free_list", "contiguous", "segments"}),
      one_of(random, registry.names(EvictionStrategy::kInterface)));
  if (random.one_in(2)) text += fmt::format(", start: {}", random.below(static_cast<std::uint32_t>(pages)) * page);
  if (random.one_in(12)) text += ", store: none";
  return text + " }\n";
}

/// Returns the options of a storage in memory, one in two with faults: records that are gone or damaged, calls that are
/// late or fail.
std::string simulated_storage(std::uint64_t seed) {
  Random random(splitmix64(seed ^ 0x73'746f'7265));  // its own random numbers
  std::string options = fmt::format("{{ seed: {}, linger: {}", random.below(1000), random.below(4));
  if (random.one_in(2))
    for (const char* const fault : {"absent", "forgets", "damaged", "late", "failed", "full"})
      if (random.one_in(2)) options += fmt::format(", {}: {}", fault, 2 + random.below(40));
  return options + " }";
}

/// Returns the options of a tier below the pools, for one engine in four if all its pools have limits, and, in two
/// of three where it may have one, a storage.
std::string tier_of(std::uint64_t seed, Units page, const std::string& engine) {
  Random random(splitmix64(seed ^ 0x7469'6572));  // its own random numbers: engines are the same as without tiers
  constexpr const char* kWrites[] = {"write_back", "write_back", "write_through", "none"};
  if (!random.one_in(4) || engine.find("unlimited") != std::string::npos) return {};
  std::string text =
      fmt::format("tiers: {{ host: {{ capacity: {}, write: {}, bandwidth: {}MB/s, latency: {}us }}",
                  some_pages(random) * page, one_of(random, kWrites), random.one_in(2) ? 0 : 50, random.below(100));
  if (engine.find("store: none") != std::string::npos || random.one_in(3)) return text + " }\n";
  const char* const write = random.one_in(4) ? "through" : "on_evict";
  return text + fmt::format(
                    ", storage: {{ in: {{ sim_storage: {} }}, write: {}, bandwidth: {}MB/s }} }}\n"
                    "model: {{ name: m, revision: r, dtype: d }}\n",
                    simulated_storage(seed), write, random.one_in(2) ? 0 : 50);
}

/// Returns tenants for one engine in three that keeps them apart. Their names are those of Trial's namespaces.
std::string tenants_of(std::uint64_t seed, Units page, const std::string& engine, const Registry& registry) {
  Random random(splitmix64(seed ^ 0x7465'6e61'6e74));  // its own random numbers: engines are the same as without
  if (!random.one_in(3) || engine.find("index: \"null\"") != std::string::npos) return {};
  constexpr std::string_view kCapacity = "capacity: ";
  const std::string_view first = std::string_view(engine).substr(engine.find(kCapacity) + kCapacity.size());
  const std::uint64_t tokens = first.starts_with('u') ? 400 * page : std::stoull(std::string(first));
  const auto part = [&] { return random.below(static_cast<std::uint32_t>(tokens / 4 + 1)); };
  constexpr double kWeights[] = {1, 1, 0.25, 3};
  const auto share = [&](bool promises) {
    std::string text = fmt::format("{{ weight: {}", one_of(random, kWeights));
    std::uint64_t floor = 0;
    if (promises && random.one_in(2)) text += fmt::format(", floor: {}", floor = part());
    if (random.one_in(3)) text += fmt::format(", ceiling: {}", std::max<std::uint64_t>(floor, tokens / 4) + part() + 1);
    if (promises && random.one_in(2)) text += fmt::format(", pins: {}", tokens / 4);
    return text;
  };
  std::string text = fmt::format("tenants:\n  a: {} }}\n", share(true));
  if (random.one_in(2)) {
    text += fmt::format("  ax: {}", share(true));
    if (random.one_in(2))
      text += fmt::format(", eviction: {}", one_of(random, registry.names(EvictionStrategy::kInterface)));
    text += " }\n";
  }
  if (random.one_in(2)) {
    const bool together = random.one_in(2);
    text += fmt::format("  \"*\": {}{} }}\n", share(together), together ? ", together: true" : "");
  }
  return text;
}

}  // namespace

std::string made_up_engine(std::uint64_t seed, const Registry& registry) {
  Random random(seed);
  constexpr Units kPages[] = {1, 1, 2, 3, 4, 4, 8, 16, 16, 32};
  const Units page = one_of(random, kPages);
  std::string yaml = fmt::format("page_size: {}\nkey: {}\n", page, random.one_in(4) ? "bigram" : "token");
  if (random.one_in(40)) yaml += "index: \"null\"\n";
  else
    yaml += fmt::format("index: {{ radix: {{ accounting: {}, keep_free: {} }} }}\n", one_of(random, kAccountings),
                        random.one_in(4) ? 0 : 15);
  yaml += "groups:\n";
  const std::uint32_t groups = random.one_in(3) ? 1 : 2 + random.below(kMaxGroups - 1);
  const bool no_whole_path = random.one_in(6);
  for (std::uint32_t g = 0; g < groups; ++g)
    yaml += group_of(random, g, !no_whole_path && (g == 0 || random.one_in(5)), page, registry);
  yaml += fmt::format("store: {}\n", random.one_in(8) ? "none" : kStore);
  if (random.one_in(8)) yaml += "feed: { heap: { events: 4096, tokens: true, controls: true } }\n";
  yaml += tier_of(seed, page, yaml);
  yaml += tenants_of(seed, page, yaml, registry);
  yaml += fmt::format("segment_pages: {}\nidle_segments: {}\ninsert_at_finish: {}\n",
                      random.one_in(3) ? 64 : 3 + random.below(12), random.below(3), !random.one_in(6));
  return yaml;
}

std::string made_small(EngineConfig engine, std::uint64_t seed, const Registry& registry) {
  Random random(seed);
  const ComponentConfig rows{"host", "{ layers: 2, streams: { k: 8, v: 4 } }", {}};
  if (engine.store.name != "none") engine.store = rows;
  const std::uint64_t had = engine.groups[0].capacity;
  for (GroupConfig& group : engine.groups) {
    // A group that keeps one page in several needs room for a few of these stretches.
    const std::uint64_t least = group.reach == kWholePath ? 0 : group.reach / engine.page_size,
                        pages = some_pages(random) + least;
    group.capacity = random.one_in(12) ? kUnlimited : pages * engine.page_size;
    group.start = random.one_in(2) ? random.below(static_cast<std::uint32_t>(pages)) * engine.page_size : kUnlimited;
    if (!group.store.name.empty() && group.store.name != "none") group.store = rows;
  }
  for (TenantConfig& tenant : engine.tenants) {  // the same part of the pool
    const auto scale = [&](std::uint64_t& tokens, std::uint64_t least) {
      const double part = static_cast<double>(tokens) / static_cast<double>(had);
      if (tokens != kUnlimited && engine.groups[0].capacity != kUnlimited)
        tokens = std::max(least, static_cast<std::uint64_t>(part * static_cast<double>(engine.groups[0].capacity)));
    };
    scale(tenant.share.floor, 0);
    scale(tenant.share.pins, 0);
    scale(tenant.share.ceiling, std::max<std::uint64_t>({tenant.share.floor, tenant.share.pins, 1}));
  }
  engine.segment_pages = random.one_in(3) ? 64 : 3 + random.below(12);
  if (HostTierConfig& tier = engine.host_tier; tier.capacity > 0) {
    // A tier below needs pools with a limit.
    for (GroupConfig& group : engine.groups)
      if (group.capacity == kUnlimited) group.capacity = 1000 * std::uint64_t{engine.page_size};
    tier.capacity = some_pages(random) * engine.page_size;
  }
  if (ComponentConfig& storage = engine.storage_tier.in; !storage.name.empty())
    storage = {"sim_storage", simulated_storage(seed), {}};
  engine.feed = {};
  engine.events = {};
  return dump_engine_config(engine, registry);
}

}  // namespace canopy::check
