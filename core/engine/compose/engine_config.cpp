#include <canopy/engine/engine_config.h>
#include <canopy/config/nearest_name.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "compose/component_reader.h"

namespace canopy {
namespace {

using Kind = YamlNode::Kind;

constexpr std::uint64_t kMaxPages = std::numeric_limits<Page>::max() - 1;  // page 0 is nobody's
constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max();
constexpr const char* kPageSizeHelp = "tokens a page";

/// A key of a map in an engine's file, and what a person wants to hear when it is missing.
struct KnownKey {
  const char* name;
  const char* expected = nullptr;  ///< null: need not be there
};

constexpr std::array kEngineKeys{KnownKey{"page_size", "the tokens of a page, 1..65536"},
                                 KnownKey{"key", nullptr},
                                 KnownKey{"index", nullptr},
                                 KnownKey{"groups", "a map of KV cache groups, { full: { reach: path, ... } }"},
                                 KnownKey{"store", nullptr},
                                 KnownKey{"feed", nullptr},
                                 KnownKey{"segment_pages", nullptr},
                                 KnownKey{"idle_segments", nullptr},
                                 KnownKey{"insert_at_finish", nullptr}};

constexpr std::array kGroupKeys{KnownKey{"reach", nullptr},
                                KnownKey{"every", nullptr},
                                KnownKey{"capacity", "a number of tokens, or unlimited"},
                                KnownKey{"start", nullptr},
                                KnownKey{"allocator", "the name of a slot allocator"},
                                KnownKey{"eviction", "the name of an eviction strategy"},
                                KnownKey{"store", nullptr}};

bool is_word(const YamlNode& node, std::string_view word) { return node.kind == Kind::scalar && node.scalar == word; }

bool is_group_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && lower(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

class Reader {
 public:
  Reader(const Registry& registry, Complaints& complaints)
      : complaints_(complaints), components_(registry, complaints) {}

  EngineConfig read(const YamlNode& document) {
    EngineConfig config;
    config.file = document.mark.source;
    if (!is_map(document, "an engine", "page_size: ..., groups: ...")) return config;
    ask_for(document, "an engine", kEngineKeys);
    // Groups are checked against the page size, which may stand behind them.
    if (const YamlNode* page_size = document.find("page_size")) {
      Complaints later;
      page_size_ = read_number(*page_size, "page_size", 1, 65536, {}, later).value_or(0);
    }
    config.key = {"token", {}, document.mark};
    config.index = {"radix", {}, document.mark};
    config.store = {"none", {}, document.mark};
    for (const auto& [key, value] : document.entries) read_key(key, value, config);
    if (!document.find("key"))
      components_.check(KeyCodec::kInterface, config.key, ", which an engine without 'key' has");
    if (!document.find("index"))
      components_.check(PrefixIndex::kInterface, config.index, ", which an engine without 'index' has");
    return config;
  }

 private:
  void complain(const Mark& mark, const std::string& sentence) { complaints_.push_back(mark.text() + ": " + sentence); }

  bool is_map(const YamlNode& node, const std::string& what, const char* example) {
    if (node.kind == Kind::map) return true;
    complain(node.mark, fmt::format("{} is {}; expected a map, {{ {} }}", what,
                                    node.kind == Kind::null     ? "empty"
                                    : node.kind == Kind::scalar ? in_quotes(node.scalar)
                                                                : "a list",
                                    example));
    return false;
  }

  void ask_for(const YamlNode& map, const std::string& owner, std::span<const KnownKey> keys) {
    for (const KnownKey& key : keys)
      if (key.expected && !map.find(key.name))
        complain(map.mark, fmt::format("{} has no '{}'; expected {}", owner, key.name, key.expected));
  }

  void complain_of_key(const YamlNode& key, const std::string& owner, std::span<const KnownKey> keys) {
    std::vector<std::string> known;
    for (const KnownKey& one : keys) known.emplace_back(one.name);
    complain(key.mark, fmt::format("{} knows no {}{}", owner, in_quotes(key.scalar), did_you_mean(key.scalar, known)));
  }

  void read_key(const YamlNode& name, const YamlNode& value, EngineConfig& config) {
    const std::string& key = name.scalar;
    if (key == "page_size") {
      config.page_size = static_cast<Units>(read_number(value, key, 1, 65536, kPageSizeHelp, complaints_).value_or(1));
    } else if (key == "key") {
      components_.read(KeyCodec::kInterface, key, value, config.key);
    } else if (key == "index") {
      components_.read(PrefixIndex::kInterface, key, value, config.index);
    } else if (key == "groups") {
      read_groups(value, config);
    } else if (key == "store") {
      read_store(key, value, config.store);
    } else if (key == "feed") {
      read_feed(value, config.feed);
    } else if (key == "segment_pages") {
      constexpr const char* kHelp = "pages a pool grows by; 0: the engine chooses";
      config.segment_pages =
          static_cast<std::uint32_t>(read_number(value, key, 0, kMaxPages, kHelp, complaints_).value_or(0));
    } else if (key == "idle_segments") {
      constexpr const char* kHelp = "empty segments that keep their memory when a pool has shrunk";
      config.idle_segments =
          static_cast<std::uint32_t>(read_number(value, key, 0, kMaxPages, kHelp, complaints_).value_or(0));
    } else if (key == "insert_at_finish") {
      constexpr const char* kHelp = "whether a finished request's answer becomes reusable";
      config.insert_at_finish = read_flag(value, key, kHelp, complaints_).value_or(true);
    } else {
      complain_of_key(name, "an engine", kEngineKeys);
    }
  }

  void read_groups(const YamlNode& groups, EngineConfig& config) {
    if (!is_map(groups, "groups", "full: { reach: path, ... }")) return;
    if (groups.entries.empty()) complain(groups.mark, "groups is empty; expected at least one KV cache group");
    for (std::size_t i = 0; i < groups.entries.size(); ++i) {
      const auto& [name, value] = groups.entries[i];
      if (i == kMaxGroups)
        complain(name.mark,
                 fmt::format("group {} is one too many; an engine has at most {}", in_quotes(name.scalar), kMaxGroups));
      if (!is_group_name(name.scalar))
        complain(name.mark,
                 fmt::format("{} cannot name a group; expected a small letter, then small letters, digits and '_'",
                             in_quotes(name.scalar)));
      if (i < kMaxGroups) config.groups.push_back(read_group(name.scalar, value));
    }
  }

  GroupConfig read_group(const std::string& name, const YamlNode& value) {
    GroupConfig group;
    group.name = name;
    const std::string owner = "groups." + name;
    if (!is_map(value, owner, "reach: path, capacity: ..., allocator: ..., eviction: ...")) return group;
    ask_for(value, owner, kGroupKeys);
    for (const auto& [key, option] : value.entries) {
      const std::string called = owner + "." + key.scalar;
      if (key.scalar == "reach") {
        constexpr const char* kHelp = "`path`, or how many trailing tokens must be resident";
        if (!is_word(option, "path"))
          group.reach =
              static_cast<Units>(read_number(option, called, 1, kWholePath - 1, kHelp, complaints_).value_or(1));
      } else if (key.scalar == "every") {
        group.every = read_every(option, called);
      } else if (key.scalar == "capacity") {
        if (!is_word(option, "unlimited")) group.capacity = read_capacity(option, called);
      } else if (key.scalar == "start") {
        constexpr const char* kHelp = "tokens a pool takes memory for at once; it grows to its capacity as it needs";
        group.start =
            read_number(option, called, 0, kMaxPages * std::max<std::uint64_t>(page_size_, 1), kHelp, complaints_)
                .value_or(0);
      } else if (key.scalar == "allocator") {
        components_.read(SlotAllocator::kInterface, called, option, group.allocator);
      } else if (key.scalar == "eviction") {
        components_.read(EvictionStrategy::kInterface, called, option, group.eviction);
      } else if (key.scalar == "store") {
        read_store(called, option, group.store);
      } else {
        complain_of_key(key, owner, kGroupKeys);
      }
    }
    if (const YamlNode* start = group.start == kUnlimited ? nullptr : value.find("start");
        start && group.start > group.capacity)
      complain(start->mark,
               fmt::format("{}.start = {} is more than its capacity, {}", owner, group.start, group.capacity));
    if (const YamlNode* every = group.reach == kWholePath ? value.find("every") : nullptr)
      complain(every->mark, owner + ".every: a group that needs the whole path keeps every page; it wants a reach");
    return group;
  }

  Units read_every(const YamlNode& value, const std::string& called) {
    constexpr const char* kHelp = "tokens between two pages that are kept";
    const auto every = read_number(value, called, 1, std::uint64_t{1} << 24, kHelp, complaints_).value_or(1);
    if (page_size_ != 0 && every % page_size_ != 0)
      complain(value.mark, fmt::format("{} = {} is not a multiple of the page size, {}", called, every, page_size_));
    return static_cast<Units>(every);
  }

  std::uint64_t read_capacity(const YamlNode& value, const std::string& called) {
    const auto capacity = read_number(value, called, 1, kAnything, "tokens, or `unlimited`", complaints_);
    if (!capacity || page_size_ == 0) return kUnlimited;
    if (*capacity < page_size_)
      complain(value.mark, fmt::format("{} = {} does not hold one page of {} tokens", called, *capacity, page_size_));
    else if (*capacity / page_size_ > kMaxPages)
      complain(value.mark, fmt::format("{} = {} is more than {} pages of {} tokens, the most a pool can number", called,
                                       *capacity, kMaxPages, page_size_));
    return *capacity;
  }

  /// The one of `off` and `none`, as a name or as `{ off: {} }`.
  static bool is_nothing(const YamlNode& value, std::string_view word) {
    if (value.kind != Kind::map || value.entries.size() != 1) return is_word(value, word);
    const YamlNode& options = value.entries[0].second;
    return is_word(value.entries[0].first, word) && (options.kind == Kind::null || options.kind == Kind::map) &&
           options.entries.empty();
  }

  void read_store(const std::string& called, const YamlNode& value, ComponentConfig& store) {
    if (is_nothing(value, "none")) store = {"none", {}, value.mark};
    else components_.read(KVStore::kInterface, called, value, store);
  }

  void read_feed(const YamlNode& value, FeedConfig& feed) {
    if (is_nothing(value, "off")) return;
    static const std::vector<std::string> kKinds{"off", "heap", "shm", "file"};
    const bool has_options = value.kind == Kind::map && value.entries.size() == 1;
    const YamlNode& name = value.kind == Kind::map && !value.entries.empty() ? value.entries[0].first : value;
    if (name.kind != Kind::scalar || (value.kind == Kind::map && !has_options))
      return complain(name.mark, "feed is expected to be one of off, heap, shm and file: { shm: { name: serve-3 } }");
    const auto kind = std::find(kKinds.begin(), kKinds.end(), name.scalar);
    if (kind == kKinds.end())
      return complain(name.mark,
                      fmt::format("no feed is called {}{}", in_quotes(name.scalar), did_you_mean(name.scalar, kKinds)));
    feed.kind = static_cast<FeedConfig::Kind>(kind - kKinds.begin());
    if (feed.kind == FeedConfig::Kind::off)
      return complain(value.entries[0].second.mark, "the feed 'off' takes no options; expected { off: {} }");
    if (has_options) read_feed_options(value.entries[0].second, *kind, feed);
    if (feed.kind == FeedConfig::Kind::shm && !is_feed_name(feed.name))
      complain(name.mark, fmt::format("feed.shm.name is {}; expected what an inspector asks for: letters, digits, '-', "
                                      "'_' and '.', at most 48 of them",
                                      feed.name.empty() ? "missing" : in_quotes(feed.name)));
    if (feed.kind == FeedConfig::Kind::file && feed.name.empty())
      complain(name.mark, "feed.file.path is missing; expected the file to record to");
  }

  void read_feed_options(const YamlNode& options, const std::string& kind, FeedConfig& feed) {
    const std::string owner = "feed." + kind;
    if (options.kind == Kind::null) return;
    if (!is_map(options, owner, kind == "file" ? "path: run.feed" : "name: serve-3")) return;
    static constexpr KnownKey kShm[] = {{"name"}, {"tokens"}, {"controls"}, {"events"}},
                              kHeap[] = {{"tokens"}, {"controls"}, {"events"}}, kFile[] = {{"path"}, {"tokens"}};
    const std::span<const KnownKey> known = kind == "shm"    ? std::span<const KnownKey>(kShm)
                                            : kind == "heap" ? std::span<const KnownKey>(kHeap)
                                                             : std::span<const KnownKey>(kFile);
    for (const auto& [key, value] : options.entries) {
      const std::string full = owner + "." + key.scalar;
      if (std::none_of(known.begin(), known.end(), [&](const KnownKey& one) { return key.scalar == one.name; }))
        complain_of_key(key, owner, known);
      else if (key.scalar == "tokens")
        feed.tokens = read_flag(value, full, "whether tokens leave the process", complaints_).value_or(false);
      else if (key.scalar == "controls")
        feed.controls = read_flag(value, full, "whether who reads may steer", complaints_).value_or(false);
      else if (key.scalar == "events")
        feed.events =
            read_number(value, full, 1024, std::uint64_t{1} << 28, "events of the ring, 32 bytes each", complaints_)
                .value_or(0);
      else if (value.kind == Kind::scalar) feed.name = value.scalar;
      else complain(value.mark, full + " is no word");
    }
  }

  static bool is_feed_name(std::string_view name) {
    return !name.empty() && name.size() <= 48 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '-' || c == '_' || c == '.';
    });
  }

  Complaints& complaints_;
  ComponentReader components_;
  std::uint64_t page_size_ = 0;  ///< 0: not known
};

}  // namespace

Result<EngineConfig> read_engine_config(const YamlNode& document, const Registry& registry) {
  Complaints complaints;
  EngineConfig config = Reader(registry, complaints).read(document);
  if (!complaints.empty()) return Error{fmt::format("{}", fmt::join(complaints, "\n"))};
  return config;
}

Result<EngineConfig> load_engine_config(const std::string& path, std::span<const std::string> assignments,
                                        const Registry& registry) {
  auto document = parse_yaml_file(path);
  if (!document) return document.error();
  for (const std::string& assignment : assignments)
    if (auto set = set_value(*document, assignment); !set) return set.error();
  auto config = read_engine_config(*document, registry);
  if (config) config->file = path;
  return config;
}

void use_store(EngineConfig& config, const std::string& name) {
  const auto rename = [&](ComponentConfig& store) {
    if (store.name.empty() || store.name == "none") return;
    store.name = name;
    store.mark = {"--store " + name, 0, 0};
  };
  rename(config.store);
  for (GroupConfig& group : config.groups) rename(group.store);
}

}  // namespace canopy
