#include <canopy/config/nearest_name.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "compose/component_reader.h"
#include "compose/engine_keys.h"

namespace canopy {
namespace {

using Kind = YamlNode::Kind;

bool is_word(const YamlNode& node, std::string_view word) { return node.kind == Kind::scalar && node.scalar == word; }

/// `off` and `none`: the word, or `{ off: {} }`.
bool is_nothing(const YamlNode& value, std::string_view word) {
  if (value.kind != Kind::map || value.entries.size() != 1) return is_word(value, word);
  const YamlNode& options = value.entries[0].second;
  return is_word(value.entries[0].first, word) && (options.kind == Kind::null || options.kind == Kind::map) &&
         options.entries.empty();
}

/// Why a value is not the map that it should be; empty if it is.
std::string why_no_map(const YamlNode& node, const std::string& called, const char* example) {
  if (node.kind == Kind::map) return {};
  const std::string found = node.kind == Kind::null     ? "empty"
                            : node.kind == Kind::scalar ? in_quotes(node.scalar)
                                                        : "a list";
  return fmt::format("{} is {}; expected a map, {{ {} }}", called, found, example);
}

/// Reads a map of an engine's file: the engine, a group or a feed.
class EngineReader final : public YamlOptions {
 public:
  /// `rules_at`: the place that rules name; without it, that of the value.
  EngineReader(const YamlNode& map, const std::string& owner, const Registry& registry, Complaints& complaints,
               std::optional<Mark> rules_at = {})
      : YamlOptions(map, owner, complaints), registry_(registry), complaints_(complaints), rules_at_(rules_at) {}

  void required(const char* name, const char* expected) {
    if (!node().find(name)) complain(node().mark, fmt::format("{} has no '{}'; expected {}", owner(), name, expected));
    complained_of(0);
  }
  template <class T>
  void number_or_word(const char* name, T& value, const char* word, T meaning, std::uint64_t min, std::uint64_t max,
                      const char* help) {
    const YamlNode* given = node().find(name);
    if (given == nullptr || is_word(*given, word)) {
      take(name);
      value = meaning;
    } else {
      number(name, value, min, max, help);
      value = std::min(value, static_cast<T>(meaning - 1));  // written as a number it is no word
    }
  }
  template <class T>
  void number_if_given(const char* name, T& value, T, const char*, std::uint64_t min, std::uint64_t max,
                       const char* help) {
    number(name, value, min, max, help);
  }
  void text(const char* name, std::string& value, const char*) {
    const YamlNode* given = take(name);
    if (given == nullptr) return;
    if (given->kind == Kind::scalar) value = given->scalar;
    else complain(given->mark, called(name) + " is no word");
    done();
  }
  void word(const char* name, std::string& value, const char* help) { text(name, value, help); }
  void component(const char* name, std::string_view interface, ComponentConfig& component, const char*) {
    const YamlNode* given = take(name);
    if (given == nullptr && !component.name.empty() && component.name != "none") {
      component.where = node().mark.text();
      if (!registry_.find(interface, component.name))
        complain(node().mark,
                 registry_.unknown(interface, component.name, fmt::format(", which an engine without '{}' has", name)));
    } else if (given != nullptr && interface == KVStore::kInterface && is_nothing(*given, "none")) {
      component = {"none", {}, given->mark.text()};
    } else if (given != nullptr) {
      read_component(interface, called(name), *given, component, registry_, complaints_);
    }
    done();
  }
  void groups(const char* name, std::vector<GroupConfig>& groups, Units page_size, const char*) {
    const YamlNode* given = take(name);
    if (given == nullptr) return;
    if (std::string why = why_no_map(*given, name, "full: { reach: path, ... }"); !why.empty())
      complain(given->mark, why);
    else if (given->entries.empty()) complain(given->mark, "groups is empty; expected at least one KV cache group");
    for (std::size_t i = 0; i < given->entries.size(); ++i) {
      const auto& [key, value] = given->entries[i];
      if (i == kMaxGroups)
        complain(key.mark,
                 fmt::format("group {} is one too many; an engine has at most {}", in_quotes(key.scalar), kMaxGroups));
      if (!is_group_name(key.scalar))
        complain(key.mark, fmt::format("{} cannot name a group; expected {}", in_quotes(key.scalar), kGroupNames));
      if (i < kMaxGroups) read_group(groups.emplace_back(), key.scalar, value, page_size);
    }
    done();
  }
  void model(const char* name, ModelConfig& model, const char*) {
    const YamlNode* given = take(name);
    if (given == nullptr || given->kind == Kind::null) return done();
    if (std::string why = why_no_map(*given, name, "name: ..., revision: ..., dtype: ..."); !why.empty())
      return complain(given->mark, why), done();
    EngineReader inner(*given, name, registry_, complaints_);
    visit_model(inner, model);
    inner.finish();
    done();
  }
  void tiers(const char* name, EngineConfig& engine, const char*) {
    const YamlNode* given = take(name);
    if (given == nullptr || given->kind == Kind::null || is_word(*given, "none")) return done();
    if (std::string why = why_no_map(*given, name, "host: { capacity: ... }"); !why.empty())
      return complain(given->mark, why), done();
    const std::vector<std::string> known{"host", "storage", "recompute", "prefetch"};
    for (const YamlNode::Entry& entry : given->entries)
      if (std::ranges::find(known, entry.first.scalar) == known.end())
        complain(entry.first.mark, fmt::format("no tier is called {}{}", in_quotes(entry.first.scalar),
                                               did_you_mean(entry.first.scalar, known)));
    read_tier(*given, "host", "capacity", engine, flaw_of_tier,
              [&](EngineReader& inner) { visit_host_tier(inner, engine.host_tier, {}); });
    read_tier(*given, "storage", "in", engine, flaw_of_storage,
              [&](EngineReader& inner) { visit_storage_tier(inner, engine.storage_tier, {}); });
    read_part(*given, "recompute", "per_token: 50000", engine,
              [&](EngineReader& inner) { visit_recompute(inner, engine.recompute); });
    read_part(*given, "prefetch", "policy: worthwhile", engine,
              [&](EngineReader& inner) { visit_prefetch(inner, engine.prefetch); });
    done();
  }
  void feed(const char* name, FeedConfig& feed, const char*) {
    const YamlNode* given = take(name);
    if (given != nullptr && !is_nothing(*given, "off")) read_feed(*given, feed);
    done();
  }
  void events(const char* name, KvEventsConfig& events, const char*) {
    const YamlNode* given = take(name);
    if (given != nullptr && !is_nothing(*given, "off")) read_events(*given, events);
    done();
  }
  void rule(const char* name, const std::string& why) {
    if (why.empty() || !ok()) return;  // one mistake may be the cause of the other
    const YamlNode* given = take(name);
    complain(rules_at_ ? *rules_at_ : given ? given->mark : node().mark, called(name) + why);
    done();
  }

 protected:
  std::string no_option(const std::string& key) const override {
    return fmt::format("{} knows no {}", owner(), in_quotes(key));
  }

 private:
  std::string owner() const { return YamlOptions::owner().empty() ? "an engine" : YamlOptions::owner(); }

  void read_group(GroupConfig& group, const std::string& name, const YamlNode& value, Units page_size) {
    group.name = name;
    const std::string owner = "groups." + name;
    if (std::string why = why_no_map(value, owner, "reach: path, capacity: ..., allocator: ..., eviction: ...");
        !why.empty())
      return complain(value.mark, why);
    EngineReader inner(value, owner, registry_, complaints_);
    visit_group(inner, group, page_size);
    inner.finish();
  }

  /// `first`: the key that `flaw` is said of, once the tier's own keys are right.
  template <class Visit>
  void read_tier(const YamlNode& tiers, const char* name, const char* first, const EngineConfig& engine,
                 std::string (*flaw)(const EngineConfig&), Visit&& visit) {
    const YamlNode* const given = tiers.find(name);
    if (given == nullptr || given->kind == Kind::null || is_word(*given, "none")) return;
    const std::string owner = std::string("tiers.") + name;
    if (std::string why = why_no_map(*given, owner, (std::string(first) + ": ...").c_str()); !why.empty())
      return complain(given->mark, why);
    EngineReader inner(*given, owner, registry_, complaints_);
    visit(inner);
    inner.finish();
    const YamlNode* const at = given->find(first);
    if (at == nullptr || !complaints_.empty()) return;
    if (std::string why = flaw(engine); !why.empty()) complain(at->mark, owner + "." + first + why);
  }

  /// Settings of all tiers, which mean nothing without one.
  template <class Visit>
  void read_part(const YamlNode& tiers, const char* name, const char* example, const EngineConfig& engine,
                 Visit&& visit) {
    const YamlNode* const given = tiers.find(name);
    if (given == nullptr || given->kind == Kind::null || is_word(*given, "none")) return;
    const std::string owner = std::string("tiers.") + name;
    if (std::string why = why_no_map(*given, owner, example); !why.empty()) return complain(given->mark, why);
    EngineReader inner(*given, owner, registry_, complaints_);
    visit(inner);
    inner.finish();
    if (engine.host_tier.capacity == 0 && complaints_.empty())
      complain(given->mark, owner + " is about fetches from tiers, and there is none; expected tiers.host beside it");
  }

  void read_feed(const YamlNode& value, FeedConfig& feed) {
    const bool has_options = value.kind == Kind::map && value.entries.size() == 1;
    const YamlNode& name = value.kind == Kind::map && !value.entries.empty() ? value.entries[0].first : value;
    if (name.kind != Kind::scalar || (value.kind == Kind::map && !has_options))
      return complain(name.mark, "feed is expected to be one of off, heap, shm and file: { shm: { name: serve-3 } }");
    const auto kind = std::ranges::find(kFeedKinds, name.scalar);
    if (kind == std::end(kFeedKinds)) {
      const std::vector<std::string> known(std::begin(kFeedKinds), std::end(kFeedKinds));
      return complain(name.mark,
                      fmt::format("no feed is called {}{}", in_quotes(name.scalar), did_you_mean(name.scalar, known)));
    }
    feed.kind = static_cast<FeedConfig::Kind>(kind - std::begin(kFeedKinds));
    if (feed.kind == FeedConfig::Kind::off)
      return complain(value.entries[0].second.mark, "the feed 'off' takes no options; expected { off: {} }");
    YamlNode none;
    none.kind = Kind::map;
    const bool written = has_options && value.entries[0].second.kind != Kind::null;
    const YamlNode& options = written ? value.entries[0].second : none;
    const std::string owner = std::string("feed.") + *kind;
    const char* example = feed.kind == FeedConfig::Kind::file ? "path: run.feed" : "name: serve-3";
    if (std::string why = why_no_map(options, owner, example); !why.empty()) return complain(options.mark, why);
    EngineReader inner(options, owner, registry_, complaints_, name.mark);
    visit_feed(inner, feed);
    inner.finish();
  }

  void read_events(const YamlNode& value, KvEventsConfig& events) {
    const bool has_options = value.kind == Kind::map && value.entries.size() == 1;
    const YamlNode& name = value.kind == Kind::map && !value.entries.empty() ? value.entries[0].first : value;
    if (name.kind != Kind::scalar || (value.kind == Kind::map && !has_options))
      return complain(name.mark, "events is expected to be off or zmq: { zmq: { publish: tcp://127.0.0.1:5557 } }");
    if (name.scalar != "zmq") {
      const std::vector<std::string> known{"off", "zmq"};
      return complain(name.mark, fmt::format("no way of publishing events is called {}{}", in_quotes(name.scalar),
                                             did_you_mean(name.scalar, known)));
    }
    events.on = true;
    YamlNode none;
    none.kind = Kind::map;
    const bool written = has_options && value.entries[0].second.kind != Kind::null;
    const YamlNode& options = written ? value.entries[0].second : none;
    if (std::string why = why_no_map(options, "events.zmq", "publish: tcp://127.0.0.1:5557"); !why.empty())
      return complain(options.mark, why);
    EngineReader inner(options, "events.zmq", registry_, complaints_);
    visit_events(inner, events);
    inner.finish();
  }

  const Registry& registry_;
  Complaints& complaints_;
  std::optional<Mark> rules_at_;
};

}  // namespace

Result<EngineConfig> read_engine_config(const YamlNode& document, const Registry& registry) {
  Complaints complaints;
  EngineConfig config;
  config.file = document.mark.source;
  config.page_size = 0;  // not known until it was read
  if (std::string why = why_no_map(document, "an engine", "page_size: ..., groups: ..."); !why.empty())
    return Error{document.mark.text() + ": " + why};
  EngineReader reader(document, {}, registry, complaints);
  visit_engine(reader, config);
  reader.finish();
  if (!complaints.empty()) return Error{fmt::format("{}", fmt::join(complaints, "\n"))};
  return config;
}

Result<EngineConfig> load_engine_config(const std::string& path, std::span<const std::string> assignments,
                                        const Registry& registry) {
  auto document = parse_yaml_file(path);
  if (!document) return document.error();
  for (const std::string& assignment : assignments)
    if (auto set = set_value(*document, assignment); !set) return set.error();
  return read_engine_config(*document, registry);
}

void use_store(YamlNode& document, const std::string& name) {
  const auto rename = [&](YamlNode* store) {
    if (store == nullptr || is_nothing(*store, "none")) return;
    YamlNode* word = store->kind == Kind::map && store->entries.size() == 1 ? &store->entries[0].first : store;
    if (name == "none") *(word = store) = {};
    word->kind = Kind::scalar;
    word->scalar = name;
    word->mark = {"--store " + name, 0, 0};
  };
  rename(document.find("store"));
  if (YamlNode* groups = document.find("groups"))
    for (YamlNode::Entry& group : groups->entries) rename(group.second.find("store"));
}

}  // namespace canopy
