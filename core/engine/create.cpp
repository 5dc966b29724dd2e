/// Creates an engine from its configuration: creates components, converts units, opens pools and connects the parts.
#include <fmt/format.h>

#include <numeric>

#include <canopy/engine/engine_file.h>

#include <cache/guard/index_port.h>
#include <cache/guard/policy_guard.h>
#include <cache/guard/ports.h>
#include "create_tenants.h"
#include "create_tier.h"
#include "engine_flaws.h"
#include "impl.h"
#include "make_component.h"

namespace canopy {
namespace {

/// Pages by which a pool without rows grows, unless configured.
constexpr std::uint32_t kSegmentPages = 65536;

/// Returns the least common multiple of all groups' `every` in pages, or an error if it is too large.
Result<std::uint32_t> grid_of(const EngineConfig& config) {
  std::uint64_t grid = 1;
  for (const GroupConfig& group : config.groups) {
    if (group.every != 0) grid = std::lcm(grid, std::uint64_t{group.every / config.page_size});
    if (grid * config.page_size > ~Units{0})  // after each group, so that no product wraps
      return Error{
          config.message(fmt::format("the groups' `every` have no common boundary below {} tokens", ~Units{0}))};
  }
  return static_cast<std::uint32_t>(grid);
}

std::uint64_t pages_of(std::uint64_t tokens, Units page_size) {
  return tokens == kUnlimited ? kUnlimited : tokens / page_size;
}

Result<Pool::Components> parts_of(const EngineConfig& config, const GroupConfig& group, std::uint32_t grid,
                                  CacheState& state, const Registry& registry) {
  Pool::Components parts;
  parts.group = group.name;
  parts.needs = {config.page_size, state.overlap, group.reach, group.every ? group.every / config.page_size : 1, grid};
  auto eviction = make_component<EvictionStrategy>(group.eviction, registry, {});
  if (!eviction) return eviction.error();
  parts.eviction = make_port<PolicyGuard>(*eviction, group.eviction.name, registry, state.ledger, state.policy_failed);
  parts.limit = pages_of(group.capacity, config.page_size);
  // Default for `start`: a limited pool allocates all its memory now, an unlimited one grows on demand.
  if (group.start != kUnlimited) parts.start = (group.start + config.page_size - 1) / config.page_size;
  else if (parts.limit != kUnlimited) parts.start = parts.limit;
  parts.idle_segments = config.idle_segments;
  // A pool smaller than a segment allocates no memory that it will not use.
  const std::uint64_t pages = parts.limit == kUnlimited ? kUnlimited : parts.limit + 1;
  if (const ComponentConfig& wanted = group.store.name.empty() ? config.store : group.store; wanted.name != "none") {
    auto store = make_component<KVStore>(wanted, registry, {config.page_size, config.segment_pages, pages});
    if (!store) return store.error();
    auto guard = make_port<StorePort>(*store, wanted.name, registry, state.ledger);
    if (std::string flaw = guard->flaw(config.page_size); !flaw.empty()) return Error{config.message(flaw)};
    parts.segment_pages = guard->view().segment_pages;
    parts.store = std::move(guard);
  } else {
    const std::uint32_t wanted_pages = config.segment_pages ? config.segment_pages : kSegmentPages;
    parts.segment_pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted_pages, pages));
  }
  auto allocator = make_component<SlotAllocator>(group.allocator, registry, {parts.segment_pages});
  if (!allocator) return allocator.error();
  parts.allocator = make_port<AllocatorPort>(*allocator, group.allocator.name, registry, state.ledger);
  return parts;
}

Publisher::Texts texts_of(const EngineConfig& config, const Registry& registry) {
  Publisher::Texts texts{dump_engine_config(config, registry), {}, {}};
  for (const Offer& offer : registry.offers())
    texts.plugins.push_back(fmt::format("{}\t{}\t{}\t{} {}", offer.interface, offer.name, offer.summary,
                                        offer.file.filename().string(), offer.version));
  for (const Refusal& refusal : registry.refusals())
    texts.refusals.push_back(fmt::format("{}\t{}", refusal.file.string(), refusal.why));
  return texts;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const std::string& path, const std::filesystem::path& plugins) {
  auto registry = std::make_unique<Registry>();
  if (plugins.empty()) registry->scan(own_plugin_folder(), Trust::as_ourselves);
  else registry->scan(plugins, Trust::strict);
  const auto config = load_engine_config(path, {}, *registry);
  if (!config) return config.error();
  auto engine = create(*config, *registry);
  if (engine) (*engine)->impl_->own_registry = std::move(registry);
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineConfig& config, const Registry& registry,
                                               TreeListener* listener, Agreement* agreement) {
  if (std::string why = flaw_of(config); !why.empty()) return Error{std::move(why)};
  if (config.events.on && !listener)
    return Error{config.message(
        "events.zmq: this program publishes no KV events, `canopy replay` does; leave `events` out, or say `off`")};
  auto impl = std::make_unique<Impl>(registry, config);
  CacheState& state = impl->state;
  state.page_size = config.page_size;
  auto codec = make_component<KeyCodec>(config.key, registry, {});
  if (!codec) return codec.error();
  state.codec = make_port<CodecPort>(*codec, config.key.name, registry, state.ledger);
  state.overlap = state.codec->overlap();
  if (state.overlap > CodecPort::kMostOverlap)
    return Error{config.message(fmt::format("{} cannot be used: its keys overlap by {} words, expected at most {}",
                                            registry.component(KeyCodec::kInterface, config.key.name), state.overlap,
                                            CodecPort::kMostOverlap))};
  const auto grid = grid_of(config);
  if (!grid) return grid.error();

  std::vector<Group> groups;
  state.pools.reserve(config.groups.size());  // the index keeps pointers to their names
  for (const GroupConfig& group : config.groups) {
    auto pool_parts = parts_of(config, group, *grid, state, registry);
    if (!pool_parts) return pool_parts.error();
    Pool& pool = state.pools.emplace_back(std::move(*pool_parts));
    if (auto opened = pool.open(); !opened) return Error{config.message(opened.error().text)};
    groups.push_back({pool.group().c_str(), group.reach,
                      pool.limit() == kUnlimited ? kUnlimited : pool.limit() * config.page_size, pool.eviction(),
                      group.max_per_path});
    state.groups.push_back({group.name, group.reach, group.eviction.name, pool.eviction()});
  }
  impl->pages.look_for_prints();
  FeedWriter* feed = nullptr;
  if (config.feed.kind != FeedConfig::Kind::off || listener) {
    auto publisher = Publisher::open(config.feed, state, texts_of(config, registry), listener);
    if (!publisher) return Error{config.message(publisher.error().text)};
    impl->publisher = std::move(*publisher);
    impl->pages.publish_to(impl->publisher.get());
    feed = &impl->publisher->writer();
  }
  auto index = make_component<PrefixIndex>(config.index, registry, {config.page_size, state.overlap, groups, feed});
  if (!index) return index.error();
  state.index = make_port<IndexPort>(*index, config.index.name, registry, state);
  if (auto opened = open_tenants(config, state, registry, true, 0); !opened) return opened.error();
  if (config.host_tier.capacity > 0) {
    FeedWriter* const below = impl->publisher ? impl->publisher->writer_below() : nullptr;
    auto host = create_host_tier(config, state, registry, below);
    if (!host) return host.error();
    std::unique_ptr<StorageTier> storage;
    if (!config.storage_tier.in.name.empty()) {
      auto made = create_storage_tier(config, state, **host, impl->tiers.costs(), registry, below);
      if (!made) return made.error();
      storage = std::move(*made);
    }
    impl->tiers.open(std::move(*host), std::move(storage), config.prefetch);
  }
  for (Tenants* const tenants : {state.tenants.get(), impl->tiers.tenants()})
    if (tenants) tenants->of(NamespaceId::shared);  // as Engine::intern for the others
  if (agreement && !impl->tiers.agree_by(*agreement))
    return Error{config.message("tiers.host: the system does not have the memory for its pages")};
  if (impl->publisher && impl->publisher->on()) impl->publisher->keyframe();  // the first events of a recording
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

}  // namespace canopy
