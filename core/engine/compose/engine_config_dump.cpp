#include <canopy/engine/engine_config.h>
#include <fmt/format.h>

namespace canopy {
namespace {

template <class Interface>
std::string dump_component(const ComponentConfig& component, const Registry& registry) {
  const std::string name = to_yaml(component.name);
  const Offer* offer = registry.find(Interface::kInterface, component.name);
  if (offer == nullptr) return name;
  const std::string options = dump_options(offer->component->options, component.options);
  return options == "{}" ? name : fmt::format("{{ {}: {} }}", name, options);
}

std::string dump_store(const ComponentConfig& store, const Registry& registry) {
  return store.name == "none" ? "none" : dump_component<KVStore>(store, registry);
}

std::string dump_feed(const FeedConfig& feed) {
  const std::string events = feed.events ? fmt::format(", events: {}", feed.events) : std::string();
  switch (feed.kind) {
    case FeedConfig::Kind::off:
      break;
    case FeedConfig::Kind::heap:
      return fmt::format("{{ heap: {{ tokens: {}, controls: {}{} }} }}", feed.tokens, feed.controls, events);
    case FeedConfig::Kind::shm:
      return fmt::format("{{ shm: {{ name: {}, tokens: {}, controls: {}{} }} }}", to_yaml(feed.name), feed.tokens,
                         feed.controls, events);
    case FeedConfig::Kind::file:
      return fmt::format("{{ file: {{ path: {}, tokens: {} }} }}", to_yaml(feed.name), feed.tokens);
  }
  return "{ off: {} }";
}

}  // namespace

std::string dump_engine_config(const EngineConfig& config, const Registry& registry) {
  std::string out =
      fmt::format("page_size: {}\nkey: {}\nindex: {}\ngroups:\n", config.page_size,
                  dump_component<KeyCodec>(config.key, registry), dump_component<PrefixIndex>(config.index, registry));
  for (const GroupConfig& group : config.groups)
    out += fmt::format("  {}: {{ reach: {}{}, capacity: {}{}, allocator: {}, eviction: {}{} }}\n", to_yaml(group.name),
                       group.reach == kWholePath ? "path" : std::to_string(group.reach),
                       group.every == 0 ? "" : fmt::format(", every: {}", group.every),
                       group.capacity == kUnlimited ? "unlimited" : std::to_string(group.capacity),
                       group.start == kUnlimited ? "" : fmt::format(", start: {}", group.start),
                       dump_component<SlotAllocator>(group.allocator, registry),
                       dump_component<EvictionStrategy>(group.eviction, registry),
                       group.store.name.empty() ? "" : ", store: " + dump_store(group.store, registry));
  out += fmt::format("store: {}\nfeed: {}\nsegment_pages: {}\nidle_segments: {}\ninsert_at_finish: {}\n",
                     dump_store(config.store, registry), dump_feed(config.feed), config.segment_pages,
                     config.idle_segments, config.insert_at_finish);
  return out;
}

}  // namespace canopy
