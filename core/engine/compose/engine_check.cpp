#include "compose/engine_check.h"

#include <canopy/config/option_walkers.h>
#include <canopy/config/yaml_document.h>
#include <fmt/format.h>

#include "compose/engine_keys.h"

namespace canopy {
namespace {

/// Keeps the first thing that is wrong with a configuration that no reader has checked.
class EngineCheck final : public Options {
 public:
  EngineCheck(std::string prefix, std::string& flaw) : prefix_(std::move(prefix)), flaw_(flaw) {}
  bool ok() const override { return flaw_.empty(); }

  void required(const char*, const char*) {}
  void rule(const char* name, const std::string& why) {
    if (ok() && !why.empty()) flaw_ = prefix_ + name + why;
  }
  template <class T>
  void number_or_word(const char* name, T& value, const char*, T meaning, std::uint64_t min, std::uint64_t max,
                      const char* help) {
    if (value != meaning) number(name, value, min, max, help);
  }
  template <class T>
  void number_if_given(const char* name, T& value, T not_given, const char*, std::uint64_t min, std::uint64_t max,
                       const char* help) {
    if (value != not_given) number(name, value, min, max, help);
  }
  void text(const char*, std::string&, const char*) {}
  void word(const char*, std::string&, const char*) {}
  void events(const char* name, KvEventsConfig& events, const char*) {
    if (!events.on) return;
    EngineCheck inner(fmt::format("{}{}.zmq.", prefix_, name), flaw_);
    visit_events(inner, events);
  }
  void component(const char*, std::string_view, ComponentConfig&, const char*) {}
  void groups(const char* name, std::vector<GroupConfig>& groups, Units page_size, const char*) {
    if (groups.empty() || groups.size() > kMaxGroups)
      rule(name, fmt::format(" are {}; an engine has 1 to {}", groups.size(), kMaxGroups));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (!is_group_name(groups[i].name))
        rule(name, fmt::format(": {} cannot name a group; expected {}", in_quotes(groups[i].name), kGroupNames));
      for (std::size_t j = 0; j < i; ++j)
        if (groups[j].name == groups[i].name) rule(name, fmt::format(": {} is there twice", in_quotes(groups[i].name)));
      EngineCheck inner(fmt::format("{}{}.{}.", prefix_, name, groups[i].name), flaw_);
      visit_group(inner, groups[i], page_size);
    }
  }
  void model(const char* name, ModelConfig& model, const char*) {
    EngineCheck inner(fmt::format("{}{}.", prefix_, name), flaw_);
    visit_model(inner, model);
  }
  void tiers(const char* name, EngineConfig& engine, const char*) {
    EngineCheck host(fmt::format("{}{}.host.", prefix_, name), flaw_);
    if (engine.host_tier.capacity > 0) visit_host_tier(host, engine.host_tier, flaw_of_tier(engine));
    EngineCheck storage(fmt::format("{}{}.storage.", prefix_, name), flaw_);
    if (!engine.storage_tier.in.name.empty()) visit_storage_tier(storage, engine.storage_tier, flaw_of_storage(engine));
    EngineCheck recompute(fmt::format("{}{}.recompute.", prefix_, name), flaw_);
    visit_recompute(recompute, engine.recompute);
    EngineCheck prefetch(fmt::format("{}{}.prefetch.", prefix_, name), flaw_);
    visit_prefetch(prefetch, engine.prefetch);
  }
  void feed(const char* name, FeedConfig& feed, const char*) {
    if (feed.kind == FeedConfig::Kind::off) return;
    EngineCheck inner(fmt::format("{}{}.{}.", prefix_, name, kFeedKinds[static_cast<std::size_t>(feed.kind)]), flaw_);
    visit_feed(inner, feed);
  }

 protected:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                 const char* help) override {
    if (value < min || value > max)
      rule(name, fmt::format(" = {} is outside {} ({})", value, range_of(min, max), help));
  }
  void on_real(const char*, double&, double, double, const char*) override {}
  void on_flag(const char*, bool&, const char*) override {}
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override {}
  void on_entries(const char*, Entries&, const char*) override {}
  void on_text(const char*, const char*, std::size_t, const char*, TextTarget) override {}

 private:
  std::string prefix_;
  std::string& flaw_;
};

}  // namespace

std::string flaw_of(const EngineConfig& config) {
  std::string flaw;
  EngineConfig copy = config;
  EngineCheck check({}, flaw);
  visit_engine(check, copy);
  return flaw.empty() ? flaw : config.message(flaw);
}

}  // namespace canopy
