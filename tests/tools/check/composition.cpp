#include "composition.h"

#include <canopy/base/random.h>
#include <canopy/engine/engine_file.h>
#include <canopy/eviction_strategy.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace canopy::check {
namespace {

template <class List>
const auto& one_of(Random& random, const List& list) {
  return list[random.below(static_cast<std::uint32_t>(std::size(list)))];
}

/// Returns the pages of a pool that runs out of pages all the time (0), at times (1), or never (2).
std::uint64_t some_pages(Random& random, std::uint32_t how_many) {
  constexpr std::uint32_t kLeast[] = {12, 60, 250};
  return kLeast[how_many] + random.below(2 * kLeast[how_many]);
}
std::uint64_t some_pages(Random& random) { return some_pages(random, random.below(3)); }

/// Returns the options of a storage in memory, with faults: records that are gone or damaged, calls that are late or
/// fail.
std::string simulated_storage(Random& random, bool faulty) {
  std::string options = fmt::format("{{ seed: {}, linger: {}", random.below(1000), random.below(4));
  if (faulty)
    for (const char* const fault : {"absent", "forgets", "damaged", "late", "failed", "full"})
      if (random.one_in(2)) options += fmt::format(", {}: {}", fault, 2 + random.below(40));
  return options + " }";
}

/// The text of an engine's file, from the values of a row.
class Text {
 public:
  Text(const Combination& row, const std::vector<Setting>& settings, std::uint64_t seed, const Registry& registry)
      : row_(row), settings_(settings), registry_(registry), random_(splitmix64(seed)) {
    static_cast<void>(parse(value("page"), page_));
  }

  const std::string& value(std::string_view name) const {
    for (std::size_t i = 0; i < settings_.size(); ++i)
      if (settings_[i].name == name) return settings_[i].values[row_[i]];
    throw std::logic_error(fmt::format("there is no setting {}", name));
  }
  bool is(std::string_view name, std::string_view wanted) const { return value(name) == wanted; }
  std::uint32_t number(std::string_view name) const {
    std::uint32_t number = 0;
    parse(value(name), number);
    return number;
  }

  std::string whole() {
    std::string yaml = fmt::format("page_size: {}\nkey: {}\nindex: {}\ngroups:\n", page_, value("key"), value("index"));
    tokens_ = some_pages(random_, is("pages", "few") ? 0 : is("pages", "middle") ? 1 : 2) * page_;
    std::string_view kinds = value("groups");
    for (int g = 0; !kinds.empty(); ++g) {
      const std::size_t end = std::min(kinds.find(' '), kinds.size());
      yaml += group(g, kinds.substr(0, end));
      kinds.remove_prefix(std::min(end + 1, kinds.size()));
    }
    yaml += fmt::format("store: {}\n", is("rows", "none") ? "none" : kRows);
    if (is("feed", "heap")) yaml += "feed: { heap: { events: 4096, tokens: true, controls: true } }\n";
    yaml += tiers() + tenants();
    yaml += fmt::format("segment_pages: {}\nidle_segments: {}\ninsert_at_finish: {}\n",
                        is("segments", "few") ? 3 + random_.below(12) : number("segments"), random_.below(3),
                        is("at finish", "inserts"));
    return yaml;
  }

 private:
  static constexpr const char* kRows = "{ host: { layers: 2, streams: { k: 8, v: 4 } } }";

  static bool parse(const std::string& text, std::uint32_t& number) {
    return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
  }

  std::string group(int number, std::string_view kind) {
    std::string reach = "reach: path";
    if (kind == "window") reach = fmt::format("reach: {}", 1 + random_.below(random_.one_in(2) ? page_ : 5 * page_));
    if (kind == "state") {
      // If only one page in several is kept, it serves a boundary only if the reach ends in it.
      reach = fmt::format("reach: {}, every: {}", 1 + random_.below(page_), (1 + random_.below(4)) * page_);
      if (random_.one_in(4)) reach += fmt::format(", max_per_path: {}", 1 + random_.below(4));
    }
    // The pools of the other groups are small now and then, whatever the first one is.
    const std::uint64_t tokens = number == 0 || random_.one_in(2) ? tokens_ : some_pages(random_, 0) * page_;
    std::string text = fmt::format("  {}: {{ {}, capacity: {}, allocator: {}, eviction: \"{}\"",
                                   number == 0 ? "full" : fmt::format("part_{}", number), reach,
                                   is("pages", "unlimited") ? "unlimited" : std::to_string(tokens), value("allocator"),
                                   value("policy"));
    if (is("start", "none")) text += ", start: 0";
    if (is("start", "some")) text += fmt::format(", start: {}", random_.below(static_cast<std::uint32_t>(tokens)));
    return text + " }\n";
  }

  std::string tiers() {
    const bool timed = is("lanes", "timed");
    std::string storage = value("storage");
    if (is("host tier", "none") && storage == "none") return {};
    std::string text = "tiers: {";
    if (!is("host tier", "none"))
      text += fmt::format(" host: {{ capacity: {}, {}, eviction: \"{}\", bandwidth: {}MB/s, latency: {}us }}",
                          some_pages(random_, is("host pages", "few")      ? 0
                                              : is("host pages", "middle") ? 1
                                                                           : 2) *
                              page_,
                          value("host tier"), value("policy"), timed ? 50 : 0, timed ? random_.below(100) : 0);
    if (storage == "none") return text + " }\n";
    for (const char* const how : {"sound", "faulty"})
      if (const std::size_t at = storage.find(how); at != storage.npos)
        storage.replace(at, std::string_view(how).size(),
                        simulated_storage(random_, how == std::string_view("faulty")));
    // Records on a disk take a time of their own, so that only simulated times are the same in each run.
    const bool simulated = timed || storage.find(kFolder) != storage.npos;
    return text + fmt::format(
                      "{} storage: {{ in: {}, write: {}, bandwidth: {}MB/s }} }}\n"
                      "model: {{ name: m, revision: r, dtype: d }}\n",
                      text.back() == '{' ? "" : ",", storage, value("put"), simulated ? 50 : 0);
  }

  /// Their names are those of Trial's namespaces.
  std::string tenants() {
    const std::string& kind = value("tenants");
    if (kind == "none") return {};
    const auto part = [&](std::uint64_t of) { return random_.below(static_cast<std::uint32_t>(tokens_ / of + 1)); };
    const auto weight = [&] {
      constexpr double kWeights[] = {1, 1, 0.25, 3};
      return fmt::format("weight: {}", one_of(random_, kWeights));
    };
    if (kind == "each") return fmt::format("tenants:\n  a: {{ {} }}\n  \"*\": {{ {} }}\n", weight(), weight());
    if (kind == "together")
      return fmt::format("tenants:\n  \"*\": {{ {}, together: true, pins: {}, floor: {} }}\n", weight(), tokens_ / 2,
                         part(4));
    std::string text = "tenants:\n";
    for (const char* const name : {"a", "ax"}) {
      text += fmt::format("  {}: {{ {}", name, weight());
      if (kind == "floors") text += fmt::format(", floor: {}, pins: {}", part(4), part(4));
      if (kind == "full floors") text += fmt::format(", floor: {}", tokens_ / 2);
      if (kind == "ceilings") text += fmt::format(", ceiling: {}, pins: {}", tokens_ / 4 + part(4) + 1, tokens_ / 4);
      if (kind == "pins") text += fmt::format(", pins: {}", tokens_ / 2);
      if (random_.one_in(3))
        text += fmt::format(", eviction: \"{}\"", one_of(random_, registry_.names(EvictionStrategy::kInterface)));
      text += " }\n";
    }
    return text;
  }

  const Combination& row_;
  const std::vector<Setting>& settings_;
  const Registry& registry_;
  Random random_;
  std::uint32_t page_ = 1;
  std::uint64_t tokens_ = 0;  ///< limit of the first group, if it has one
};

}  // namespace

Composition composition_of(const Combination& row, const std::vector<Setting>& settings, std::uint64_t seed,
                           const Registry& registry) {
  Text text(row, settings, seed, registry);
  Random random(splitmix64(seed + 1));
  Composition composition{text.whole(), text.number("ranks"), {}};
  RandomOperations::Settings& use = composition.use;
  use.spaces = text.number("namespaces");
  use.running = 1 + random.below(8);
  use.retention = text.is("retention", "yes");
  use.resizes = text.is("limits move", "yes");
  use.policies = text.is("policies change", "yes");
  use.pins = text.is("pins", "yes");
  use.faults = text.is("faults", "components") || text.is("faults", "lies");
  use.memory = text.is("faults", "memory");
  if (text.is("faults", "lies")) use.lies_from = kEpisode / 8 * 7;  // late, because a lie ends the episode
  if (!text.is("next index", "none")) use.next_index = text.value("next index");
  use.forks = text.is("forks", "yes");
  use.misuse = true;
  return composition;
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
    storage = {"sim_storage", simulated_storage(random, random.one_in(2)), {}};
  engine.feed = {};
  engine.events = {};
  return dump_engine_config(engine, registry);
}

}  // namespace canopy::check
