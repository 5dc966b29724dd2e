#include "create_tier.h"
#include "create_tenants.h"

#include <fmt/format.h>

#include <algorithm>

#include <cache/guard/index_port.h>
#include <cache/guard/policy_guard.h>
#include <cache/guard/ports.h>
#include <tiers/page_record.h>
#include "engine_flaws.h"
#include "make_component.h"

namespace canopy {
namespace {

constexpr std::uint32_t kTierSegmentPages = 65536;  // pages by which a pool of the tier grows

Result<Pool::Components> parts_of(const EngineConfig& config, std::size_t group, CacheState& device, CacheState& state,
                                  const Registry& registry) {
  Pool::Components parts;
  parts.group = device.pools[group].group();
  parts.needs = device.pools[group].needs();
  parts.limit = host_tier_pages(config, group);
  parts.segment_pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(kTierSegmentPages, parts.limit + 1));
  const ComponentConfig& policy = config.host_tier.eviction;
  auto eviction = make_component<EvictionStrategy>(policy, registry, {});
  if (!eviction) return eviction.error();
  parts.eviction = make_port<PolicyGuard>(*eviction, policy.name, registry, state.ledger, state.policy_failed);
  const ComponentConfig& wanted = config.groups[group].allocator;
  auto allocator = make_component<SlotAllocator>(wanted, registry, {parts.segment_pages});
  if (!allocator) return allocator.error();
  parts.allocator = make_port<AllocatorPort>(*allocator, wanted.name, registry, state.ledger);
  return parts;
}

}  // namespace

Result<std::unique_ptr<HostTier>> create_host_tier(const EngineConfig& config, CacheState& device,
                                                   const Registry& registry, FeedWriter* feed) {
  auto tier = std::make_unique<HostTier>(device, config.host_tier);
  CacheState& state = tier->state();
  state.page_size = device.page_size;
  state.overlap = device.overlap;
  std::vector<Group> groups;
  state.pools.reserve(device.pools.size());  // the index keeps pointers to their names
  for (std::size_t g = 0; g < device.pools.size(); ++g) {
    auto parts = parts_of(config, g, device, state, registry);
    if (!parts) return parts.error();
    Pool& pool = state.pools.emplace_back(std::move(*parts));
    if (auto opened = pool.open(); !opened) return Error{config.message(opened.error().text)};
    groups.push_back({pool.group().c_str(), config.groups[g].reach, pool.limit() * config.page_size, pool.eviction(),
                      config.groups[g].max_per_path});
    state.groups.push_back({pool.group(), config.groups[g].reach, config.host_tier.eviction.name, pool.eviction()});
  }
  auto index = make_component<PrefixIndex>(config.index, registry, {config.page_size, state.overlap, groups, feed});
  if (!index) return index.error();
  state.index = make_port<IndexPort>(*index, config.index.name, registry, state);
  const StorageTierConfig& storage = config.storage_tier;
  const double kept_free =
      storage.in.name.empty() || storage.write != PutPolicy::on_evict ? 0 : storage.kept_free_percent / 100.0;
  if (auto opened = open_tenants(config, state, registry, false, kept_free); !opened) return opened.error();
  tier->open(storage.in.name.empty() ? 0 : kRecordHeader);
  return tier;
}

Result<std::unique_ptr<StorageTier>> create_storage_tier(const EngineConfig& config, CacheState& device, HostTier& host,
                                                         const CostModel& costs, const Registry& registry,
                                                         FeedWriter* feed) {
  const ComponentConfig& in = config.storage_tier.in;
  const ModelConfig& model = config.model;
  const bool one_place = model.replicated || model.ranks == 1;
  std::vector<StorageTier::Place> places;
  for (std::size_t g = 0; g < device.pools.size(); ++g) {
    const Fingerprint fingerprint = fingerprint_of(fingerprint_text(config, device, g));
    auto storage = make_component<PageStorage>(
        in, registry,
        {host.images(g).record_bytes(), fingerprint, one_place ? 0 : model.rank, one_place ? 1 : model.ranks});
    if (!storage) return storage.error();
    places.push_back({std::make_unique<StoragePort>(
                          std::move(*storage), registry.component(PageStorage::kInterface, in.name), device.ledger),
                      fingerprint});
    if (model.replicated && model.ranks > 1 && !places.back().storage->traits().shared)
      return Error{config.message(fmt::format(
          "model.replicated: rank 0 puts the records of all {} ranks, and {} shows them to no other process; "
          "expected a storage that does, such as redis",
          model.ranks, registry.component(PageStorage::kInterface, in.name)))};
  }
  auto tier = std::make_unique<StorageTier>(
      device, host, costs,
      StorageTier::Plan{config.storage_tier, model.puts(), fingerprint_of(fingerprint_text(config, device))},
      std::move(places), feed);
  device.board.storage = in.name;
  host.pages().attach_tier(*tier);
  return tier;
}

}  // namespace canopy
