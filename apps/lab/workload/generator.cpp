#include "generator.h"

#include "hints.h"
#include "mixer.h"
#include "shown.h"
#include "traffic.h"

#include <canopy/base/figures.h>
#include <canopy/base/nearest_name.h>
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace canopy::workload {
namespace {

void complain(const YamlNode& node, std::string_view text, Complaints& complaints) {
  canopy::complain(node.mark, text, complaints);
}

/// Returns the options of one kind; null, with complaints, if they cannot be used.
template <class Config>
std::unique_ptr<Traffic> read_traffic(const YamlNode& node, std::uint64_t seed, Complaints& complaints) {
  Config config;
  YamlOptions options(node, Config::kName, complaints);
  config.visit(options);
  options.finish();
  if (!options.ok()) return nullptr;

  std::string problem = config.problem();
  if (const std::uint64_t longest = config.longest_prompt(); longest > kMaxPromptTokens) {
    problem = fmt::format("may make a prompt of {} tokens, {} of memory while it runs; at most {} are allowed", longest,
                          bytes(longest * kPromptTokenBytes), kMaxPromptTokens);
  } else if (const std::uint64_t kept = config.kept(); kept > kMaxKeptTokens) {
    problem = fmt::format("may have to keep {} tokens of its conversations, {}; at most {} are allowed", kept,
                          bytes(kept * sizeof(Token)), kMaxKeptTokens);
  }
  if (problem.empty()) return make_traffic(config, seed);
  complain(node, fmt::format("{} {}", Config::kName, problem), complaints);
  return nullptr;
}

struct TrafficKind {
  const char* name;
  std::unique_ptr<Traffic> (*read)(const YamlNode&, std::uint64_t, Complaints&);
};

template <class... Config>
constexpr std::array<TrafficKind, sizeof...(Config)> kinds_of() {
  return {TrafficKind{Config::kName, &read_traffic<Config>}...};
}

constexpr auto kKinds = kinds_of<ChatConfig, FewShotConfig, AgentsConfig, RagConfig, BatchSweepConfig, ThrashConfig,
                                 AdversarialSplitsConfig>();

const TrafficKind* find_kind(const std::string& name) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const TrafficKind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const TrafficKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

struct ItemOptions {
  std::uint64_t share = 1, priority = 0, from_second = 0;
  void visit(Options& o) {
    o.number("share", share, 1, 1'000'000, "share of the requests, relative to the other items");
    o.number("priority", priority, 0, 1'000'000, "priority of all its requests");
    o.number("from_second", from_second, 0, 1'000'000'000, "time of its first request; its share is idle until then");
  }
};

void read_namespace(const YamlNode& node, std::string& space, Complaints& complaints) {
  constexpr std::size_t kMaxName = 64;
  if (node.kind == YamlNode::Kind::scalar && node.scalar.size() <= kMaxName) {
    space = node.scalar;
  } else {
    complain(node, fmt::format("'namespace': expected a name of at most {} bytes", kMaxName), complaints);
  }
}

struct RetentionOptions {
  std::uint64_t tokens = 0, seconds = 0, priority = 0;
  void visit(Options& o) {
    o.number("tokens", tokens, 1, kMaxPromptTokens, "first tokens of the prompt to keep");
    o.number("seconds", seconds, 1, 1'000'000'000, "time from the end of the request for which to keep them");
    o.number("priority", priority, 0, 1'000'000, "policies see the highest one as the priority of the request");
  }
};

void read_retention(const YamlNode& node, std::vector<Retention>& retention, Complaints& complaints) {
  RetentionOptions wish;
  YamlOptions options(node, "retention", complaints);
  wish.visit(options);
  options.finish();
  for (const char* key : {"tokens", "seconds"})
    if (options.ok() && !node.find(key)) complain(node, fmt::format("retention: '{}' is missing", key), complaints);
  retention.push_back(
      {static_cast<std::uint32_t>(wish.tokens), wish.seconds * 1'000'000, static_cast<std::int32_t>(wish.priority)});
}

void read_hints(const YamlNode& node, std::uint64_t& hints, Complaints& complaints) {
  const bool one = node.kind == YamlNode::Kind::scalar;
  if (!one && node.kind != YamlNode::Kind::sequence)
    return complain(node, "'hints': expected a name or a list of names", complaints);
  for (const YamlNode& item : one ? std::vector<YamlNode>{node} : node.items) {
    const auto hint = hint_named(item.scalar);
    if (!hint)
      complain(item, fmt::format("'hints' has '{}'; {}", shown(item.scalar), known_hints(item.scalar)), complaints);
    hints |= hint.value_or(0);
  }
}

/// Reads an item of the mix: one key is the kind, the others are the item's own.
MixItem read_item(const YamlNode& node, std::uint64_t seed, Complaints& complaints) {
  MixItem item;
  if (node.kind != YamlNode::Kind::map) {
    complain(node, "expected a kind of traffic with its options, like 'chat: { turns: 6 }'", complaints);
    return item;
  }
  YamlNode general = node;
  general.entries.clear();
  const YamlNode* kind_key = nullptr;
  bool unknown = false;
  for (const auto& [key, value] : node.entries) {
    if (const TrafficKind* kind = find_kind(key.scalar)) {
      if (kind_key != nullptr) {
        complain(key,
                 fmt::format("'{}' together with '{}'; expected one kind of traffic in an item", key.scalar,
                             kind_key->scalar),
                 complaints);
        continue;
      }
      kind_key = &key;
      item.traffic = kind->read(value, seed, complaints);
    } else if (key.scalar == "namespace") {
      read_namespace(value, item.space, complaints);
    } else if (key.scalar == "hints") {
      read_hints(value, item.hints, complaints);
    } else if (key.scalar == "retention") {
      read_retention(value, item.retention, complaints);
    } else if (key.scalar == "share" || key.scalar == "priority" || key.scalar == "from_second") {
      general.entries.push_back({key, value});
    } else {
      std::vector<std::string> known = kind_names();
      known.insert(known.end(), {"share", "priority", "from_second", "namespace", "hints", "retention"});
      complain(key,
               fmt::format("'{}' is unknown in an item of 'mix'{}", shown(key.scalar), did_you_mean(key.scalar, known)),
               complaints);
      unknown = true;
    }
  }
  if (kind_key == nullptr && !unknown) {
    complain(node,
             fmt::format("this item of 'mix' has no kind of traffic\n  known here: {}", fmt::join(kind_names(), " ")),
             complaints);
  }
  ItemOptions options;
  YamlOptions walker(general, "mix", complaints);
  options.visit(walker);
  walker.finish();
  item.share = options.share;
  item.priority = static_cast<std::int32_t>(options.priority);
  item.from_ms = options.from_second * 1000;
  return item;
}

std::vector<MixItem> read_mix(const YamlNode& node, std::uint64_t seed, Complaints& complaints) {
  std::vector<MixItem> items;
  if (node.kind != YamlNode::Kind::sequence || node.items.empty()) {
    complain(node, "'mix': expected a list of kinds of traffic, like '- chat: { turns: 6 }'", complaints);
    return items;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    items.push_back(read_item(node.items[i], derive(seed, 1, i), complaints));
  }
  return items;
}

}  // namespace

Result<std::unique_ptr<RequestSource>> make_generator(const YamlNode& document, std::uint64_t seed_override) {
  Complaints complaints;
  if (document.kind != YamlNode::Kind::map) {
    complain(document, "expected a workload: a map with 'mix', and 'seed', 'requests', 'arrivals_per_second'",
             complaints);
    return Error{complaints.front()};
  }
  // `mix` is a list, which the walker over options does not support.
  YamlNode general = document;
  std::erase_if(general.entries, [](const auto& entry) {
    const auto& [key, value] = entry;
    return key.scalar == "mix";
  });

  MixConfig config;
  YamlOptions options(general, "workload", complaints);
  config.visit(options);
  options.finish();
  if (seed_override != 0) config.seed = seed_override;

  std::vector<MixItem> items;
  if (const YamlNode* list = document.find("mix")) {
    items = read_mix(*list, config.seed, complaints);
  } else {
    complain(document, "'mix' is missing: expected a list of kinds of traffic, like '- chat: { turns: 6 }'",
             complaints);
  }
  if (!complaints.empty()) return Error{fmt::format("{}", fmt::join(complaints, "\n"))};
  return std::unique_ptr<RequestSource>(std::make_unique<Mixer>(config, std::move(items)));
}

Result<std::unique_ptr<RequestSource>> open_generator(const std::string& path, std::uint64_t seed_override) {
  auto document = parse_yaml_file(path);
  if (!document) return document.error();
  return make_generator(*document, seed_override);
}

}  // namespace canopy::workload
