#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <utility>

#include "compose/engine_keys.h"

namespace canopy {
namespace {

/// Explains the keys of an engine, a group or a feed.
class EngineHelp final : public HelpOptions {
 public:
  EngineHelp(std::string prefix, std::vector<OptionHelp>& found, const Registry& registry)
      : HelpOptions(std::move(prefix), found), registry_(registry) {}

  void required(const char* name, const char*) { required_ = prefix_ + name; }
  void rule(const char*, const std::string&) {}
  template <class T>
  void number_or_word(const char* name, T&, const char* word, T, std::uint64_t min, std::uint64_t max,
                      const char* help) {
    add(name, fmt::format("{} or {}", word, range_of(min, max)), word, help);
  }
  template <class T>
  void number_if_given(const char* name, T&, T, const char* otherwise, std::uint64_t min, std::uint64_t max,
                       const char* help) {
    add(name, range_of(min, max), otherwise, help);
  }
  void text(const char* name, std::string&, const char* help) { add(name, "text", {}, help); }
  void word(const char* name, std::string& value, const char* help) {
    add(name, "text", value.empty() ? "none" : value, help);
  }
  void events(const char* name, KvEventsConfig& events, const char* help) {
    add(name, "off or zmq", "off", help);
    EngineHelp inner(prefix_ + name + ".zmq.", found_, registry_);
    visit_events(inner, events);
  }
  void component(const char* name, std::string_view interface, ComponentConfig& component, const char* help) {
    auto names = registry_.names(interface);
    if (interface == KVStore::kInterface) names.insert(names.begin(), "none");
    add(name, fmt::format("{}", fmt::join(names, " or ")), component.name.empty() ? "the engine's" : component.name,
        help);
  }
  void groups(const char* name, std::vector<GroupConfig>&, Units page_size, const char* help) {
    add(name, fmt::format("a map with 1 to {} names of your choice", kMaxGroups), {}, help);
    GroupConfig group;
    EngineHelp inner(prefix_ + name + ".<name>.", found_, registry_);
    visit_group(inner, group, page_size);
  }
  void tiers(const char* name, EngineConfig& engine, const char* help) {
    add(name, "host, storage below it, recompute and prefetch", "none", help);
    EngineHelp host(fmt::format("{}{}.host.", prefix_, name), found_, registry_);
    visit_host_tier(host, engine.host_tier, {});
    EngineHelp storage(fmt::format("{}{}.storage.", prefix_, name), found_, registry_);
    visit_storage_tier(storage, engine.storage_tier, {});
    EngineHelp recompute(fmt::format("{}{}.recompute.", prefix_, name), found_, registry_);
    visit_recompute(recompute, engine.recompute);
    EngineHelp prefetch(fmt::format("{}{}.prefetch.", prefix_, name), found_, registry_);
    visit_prefetch(prefetch, engine.prefetch);
  }
  void model(const char* name, ModelConfig& model, const char* help) {
    add(name, "a map", "none", help);
    EngineHelp inner(fmt::format("{}{}.", prefix_, name), found_, registry_);
    visit_model(inner, model);
  }
  void feed(const char* name, FeedConfig& feed, const char* help) {
    add(name, fmt::format("{}", fmt::join(kFeedKinds, " or ")), kFeedKinds[0], help);
    for (const auto kind : {FeedConfig::Kind::heap, FeedConfig::Kind::shm, FeedConfig::Kind::file}) {
      feed.kind = kind;
      EngineHelp inner(fmt::format("{}{}.{}.", prefix_, name, kFeedKinds[static_cast<std::size_t>(kind)]), found_,
                       registry_);
      visit_feed(inner, feed);
    }
  }

 protected:
  void add(std::string_view name, std::string range, std::string value, std::string_view help) override {
    const bool must_be_given = prefix_ + std::string(name) == required_;
    HelpOptions::add(name, std::move(range), must_be_given ? std::string() : std::move(value), help);
  }

 private:
  const Registry& registry_;
  std::string required_;
};

}  // namespace

std::vector<OptionHelp> describe_engine_config(const Registry& registry) {
  std::vector<OptionHelp> found;
  EngineConfig defaults;
  EngineHelp help({}, found, registry);
  visit_engine(help, defaults);
  return found;
}

}  // namespace canopy
