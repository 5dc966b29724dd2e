#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include "compose/engine_keys.h"

namespace canopy {
namespace {

/// Writes an engine, a group or a feed.
class EngineDump final : public DumpOptions {
 public:
  explicit EngineDump(const Registry& registry) : registry_(registry) {}

  /// A key a line.
  std::string block() const {
    std::string text;
    for (const auto& [name, value] : written_)
      text += fmt::format("{}:{}{}\n", name, value.starts_with('\n') ? "" : " ", value);
    return text;
  }

  void required(const char*, const char*) {}
  void rule(const char*, const std::string&) {}
  template <class T>
  void number_or_word(const char* name, T& value, const char* word, T meaning, std::uint64_t, std::uint64_t,
                      const char*) {
    add(name, value == meaning ? word : std::to_string(value));
  }
  template <class T>
  void number_if_given(const char* name, T& value, T not_given, const char*, std::uint64_t, std::uint64_t,
                       const char*) {
    if (value != not_given) add(name, std::to_string(value));
  }
  void text(const char* name, std::string& value, const char*) { add(name, to_yaml(value)); }
  void word(const char* name, std::string& value, const char*) {
    if (!value.empty()) add(name, to_yaml(value));
  }
  void events(const char* name, KvEventsConfig& events, const char*) {
    if (!events.on) return;  // not there: as it is read
    EngineDump inner(registry_);
    visit_events(inner, events);
    add(name, fmt::format("{{ zmq: {} }}", inner.flow()));
  }
  void component(const char* name, std::string_view interface, ComponentConfig& component, const char*) {
    if (component.name.empty()) return;
    const Offer* offer = registry_.find(interface, component.name);
    const auto options = parse_yaml(component.options, component.name);
    const std::string all = offer && options ? dump_options(offer->component->options, *options) : "{}";
    const std::string called = to_yaml(component.name);
    add(name, all == "{}" ? called : fmt::format("{{ {}: {} }}", called, all));
  }
  void groups(const char* name, std::vector<GroupConfig>& groups, Units page_size, const char*) {
    std::string all;
    for (GroupConfig& group : groups) {
      EngineDump inner(registry_);
      visit_group(inner, group, page_size);
      all += fmt::format("\n  {}: {}", to_yaml(group.name), inner.flow());
    }
    add(name, all);
  }
  void tiers(const char* name, EngineConfig& engine, const char*) {
    if (engine.host_tier.capacity == 0) return;
    EngineDump host(registry_);
    visit_host_tier(host, engine.host_tier, {});
    std::string tiers = "host: " + host.flow();
    if (!engine.storage_tier.in.name.empty()) {
      EngineDump storage(registry_);
      visit_storage_tier(storage, engine.storage_tier, {});
      tiers += ", storage: " + storage.flow();
    }
    EngineDump recompute(registry_), prefetch(registry_);
    visit_recompute(recompute, engine.recompute);
    visit_prefetch(prefetch, engine.prefetch);
    tiers += ", recompute: " + recompute.flow() + ", prefetch: " + prefetch.flow();
    add(name, fmt::format("{{ {} }}", tiers));
  }
  void model(const char* name, ModelConfig& model, const char*) {
    if (model.name.empty()) return;  // not there: as it is read
    EngineDump inner(registry_);
    visit_model(inner, model);
    add(name, inner.flow());
  }
  void feed(const char* name, FeedConfig& feed, const char*) {
    EngineDump inner(registry_);
    if (feed.kind != FeedConfig::Kind::off) visit_feed(inner, feed);
    add(name, fmt::format("{{ {}: {} }}", kFeedKinds[static_cast<std::size_t>(feed.kind)], inner.flow()));
  }

 private:
  const Registry& registry_;
};

}  // namespace

std::string dump_engine_config(const EngineConfig& config, const Registry& registry) {
  EngineConfig copy = config;
  EngineDump dump(registry);
  visit_engine(dump, copy);
  return dump.block();
}

}  // namespace canopy
