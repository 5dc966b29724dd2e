#include "draw.h"

#include <canopy/base/option_walkers.h>
#include <canopy/engine/engine_file.h>
#include <canopy/eviction_strategy.h>
#include <canopy/key_codec.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace canopy::check {
namespace {

/// Collects the options of a component that are choices or flags, each with its values; that in use is the first.
class Choices final : public canopy::Options {
 public:
  std::vector<Setting> found;
  bool ok() const override { return true; }
  void on_choice(const char* name, std::uint32_t& index, std::span<const char* const> names, const char*) override {
    Setting choice{name, {names.begin(), names.end()}};
    std::rotate(choice.values.begin(), choice.values.begin() + index, choice.values.begin() + index + 1);
    found.push_back(std::move(choice));
  }
  void on_flag(const char* name, bool& value, const char*) override {
    found.push_back({name, {value ? "true" : "false", value ? "false" : "true"}});
  }
  void on_number(const char*, std::uint64_t&, const NumberRange&, const char*) override {}
  void on_real(const char*, double&, double, double, const char*) override {}
  void on_entries(const char*, Entries&, const char*) override {}
  void on_text(const char* name, const char*, std::size_t, const char*, TextTarget) override {
    if (std::string_view(name) == "path") found.push_back({name, {}});
  }
  void on_variant(const char*, std::uint32_t&, std::span<const char* const>, bool, const char*, const Part&) override {}
  void on_section(const char*, bool, const char*, const Part&) override {}
  void on_component(const char*, Component&, const char*, const char*) override {}
};

std::vector<Setting> choices_of(const Registry& registry, std::string_view interface, const std::string& name) {
  Choices choices;
  if (const Walk walk = registry.options_of(interface, name)) walk(choices);
  return std::move(choices.found);
}

/// Returns the names of components of plugin files, `first` first.
std::vector<std::string> names_of(const Registry& registry, std::string_view interface, const std::string& first) {
  std::vector<std::string> names = registry.names(interface);
  std::erase_if(names, [&](const std::string& name) {
    return name != "wild" && name != "flipped" && registry.find(interface, name)->file.extension() != ".so";
  });
  if (const auto at = std::ranges::find(names, first); at != names.end()) std::rotate(names.begin(), at, std::next(at));
  return names;
}

/// Returns components as a file has them: each with its defaults, and with each other value of each choice and flag.
std::vector<std::string> components_of(const Registry& registry, std::string_view interface, const std::string& first) {
  std::vector<std::string> all;
  for (const std::string& name : names_of(registry, interface, first)) {
    all.push_back(fmt::format("\"{}\"", name));
    for (const Setting& choice : choices_of(registry, interface, name))
      for (std::size_t i = 1; i < choice.values.size(); ++i)
        all.push_back(fmt::format("{{ \"{}\": {{ {}: {} }} }}", name, choice.name, choice.values[i]));
  }
  return all;
}

/// Returns the storages that need no server, each with each value of its first choice: those in memory with and without
/// faults, and those in a folder, which is a temporary one.
std::vector<std::string> storages_of(const Registry& registry) {
  std::vector<std::string> all{"none"};
  for (const std::string& name : names_of(registry, PageStorage::kInterface, "")) {
    auto choices = choices_of(registry, PageStorage::kInterface, name);
    const bool folder = std::erase_if(choices, [](const Setting& one) { return one.name == "path"; }) > 0;
    if (folder && choices.empty()) choices.push_back({"", {""}});
    if (folder)
      for (const std::string& value : choices[0].values)
        all.push_back(
            fmt::format("{{ {}: {{ path: {}, capacity: 256KiB, {}: {} }} }}", name, kFolder, choices[0].name, value));
    if (name == "sim_storage")
      for (const char* const how : {"sound", "faulty"}) all.push_back(fmt::format("{{ {}: {} }}", name, how));
  }
  return all;
}

/// Returns the values of a choice of an engine's file.
std::vector<std::string> values_of(const Registry& registry, std::string_view name) {
  for (const OptionHelp& option : describe_engine_config(registry)) {
    if (option.name != name) continue;
    std::vector<std::string> values;
    std::string_view range = option.range;
    while (!range.empty()) {
      const std::size_t end = std::min(range.find_first_of(", |"), range.size());
      if (end > 0 && range.substr(0, end) != "or") values.emplace_back(range.substr(0, end));
      range.remove_prefix(std::min(end + 1, range.size()));
    }
    return values;
  }
  throw std::logic_error(fmt::format("an engine's file has no choice {}", name));
}

}  // namespace

std::vector<Setting> settings_of(const Registry& registry) {
  std::vector<std::string> hosts = values_of(registry, "tiers.host.write"), indexes;
  for (std::string& write : hosts) write = "write: " + write;
  hosts.insert(hosts.begin(), "none");
  for (const std::string& name : names_of(registry, PrefixIndex::kInterface, "radix")) indexes.push_back(name);
  indexes.insert(indexes.begin(), "none");
  return {
      {"page", {"4", "1", "3", "16"}},
      {"key", components_of(registry, KeyCodec::kInterface, "token")},
      {"index", components_of(registry, PrefixIndex::kInterface, "radix")},
      {"groups", {"path", "path window", "path state", "window", "window state", "path window state", "path path"}},
      {"policy", names_of(registry, EvictionStrategy::kInterface, "lru")},
      {"allocator", components_of(registry, SlotAllocator::kInterface, "free_list")},
      {"pages", {"middle", "few", "many", "unlimited"}},
      {"start", {"all", "none", "some"}},
      {"segments", {"64", "few", "1"}},
      {"rows", {"host", "none"}},
      {"at finish", {"inserts", "nothing"}},
      {"feed", {"off", "heap"}},
      {"tenants", {"none", "each", "floors", "full floors", "ceilings", "pins", "together"}},
      {"host tier", hosts},
      {"host pages", {"middle", "few", "many"}},
      {"lanes", {"at once", "timed"}},
      {"storage", storages_of(registry)},
      {"put", values_of(registry, "tiers.storage.write")},
      {"ranks", {"1", "2", "4"}},
      // The use of the engine.
      {"retention", {"no", "yes"}},
      {"limits move", {"no", "yes"}},
      {"policies change", {"no", "yes"}},
      {"pins", {"no", "yes"}},
      {"faults", {"none", "components", "lies", "memory"}},
      {"next index", indexes},  // over the same storage
      {"forks", {"no", "yes"}},
      {"namespaces", {"3", "1", "8"}},
  };
}

Draw::Draw(std::uint64_t seed, std::vector<Setting> settings, Refuses refuses)
    : settings_(std::move(settings)), refuses_(std::move(refuses)), random_(splitmix64(seed)) {
  std::uint32_t count = 0;
  const std::size_t n = settings_.size();
  first_.resize(n * n * n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b)
      for (std::size_t c = b + 1; c < n; ++c) {
        first_[(a * n + b) * n + c] = count;
        count += static_cast<std::uint32_t>(settings_[a].values.size() * settings_[b].values.size() *
                                            settings_[c].values.size());
      }
  triples_.resize(count);
  next_ = random_.below(count);
}

std::size_t Draw::triple(std::size_t a, std::size_t b, std::size_t c, const Combination& row) const {
  if (a > b) std::swap(a, b);
  if (b > c) std::swap(b, c);
  if (a > b) std::swap(a, b);
  const std::size_t n = settings_.size();
  return first_[(a * n + b) * n + c] + (row[a] * settings_[b].values.size() + row[b]) * settings_[c].values.size() +
         row[c];
}

/// Calls visit(triple, row) for all triples, where the row has only their values.
template <class Visit>
void Draw::each_triple(Visit&& visit) const {
  Combination row(settings_.size(), kNone);
  std::size_t number = 0;
  for (std::size_t a = 0; a < row.size(); ++a, row[a - 1] = kNone)
    for (std::size_t b = a + 1; b < row.size(); ++b, row[b - 1] = kNone)
      for (std::size_t c = b + 1; c < row.size(); ++c, row[c - 1] = kNone)
        for (row[a] = 0; row[a] < settings_[a].values.size(); ++row[a])
          for (row[b] = 0; row[b] < settings_[b].values.size(); ++row[b])
            for (row[c] = 0; row[c] < settings_[c].values.size(); ++row[c])
              if (!visit(number++, row)) return;
}

template <class Visit>
void Draw::each_triple_of(const Combination& row, Visit&& visit) const {
  for (std::size_t a = 0; a < row.size(); ++a)
    for (std::size_t b = a + 1; b < row.size(); ++b)
      for (std::size_t c = b + 1; c < row.size(); ++c) visit(triple(a, b, c, row));
}

/// Gives a row the values of the next triple that is in no row yet. Returns false if there is none.
bool Draw::find_target(Combination& row) {
  const auto is_open = [](std::uint8_t of) { return (of & (kIsExcluded | kIsPlanned)) == 0; };
  const auto begin = triples_.begin() + static_cast<std::ptrdiff_t>(next_);
  auto found = std::find_if(begin, triples_.end(), is_open);
  if (found == triples_.end()) found = std::find_if(triples_.begin(), begin, is_open);
  if (found == triples_.end() || !is_open(*found)) return false;
  next_ = static_cast<std::size_t>(found - triples_.begin());
  // The last block that begins at or before it.
  const std::size_t n = settings_.size();
  std::size_t a = 0, b = 1, c = 2;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      for (std::size_t k = j + 1; k < n; ++k)
        if (first_[(i * n + j) * n + k] <= next_) a = i, b = j, c = k;
  std::size_t left = next_ - first_[(a * n + b) * n + c];
  const std::size_t of_c = settings_[c].values.size(), of_b = settings_[b].values.size();
  row[c] = static_cast<std::uint8_t>(left % of_c), left /= of_c;
  row[b] = static_cast<std::uint8_t>(left % of_b), row[a] = static_cast<std::uint8_t>(left / of_b);
  return true;
}

/// Returns what is refused if a setting of an unfinished row takes a value. May be null.
const Refused* Draw::conflict(const Combination& row, std::size_t setting, std::uint8_t value) const {
  for (const Refused& refused : refused_) {
    bool has = false, all = true;
    for (const auto& [of, is] : refused.what) {
      has |= of == setting && is == value;
      all &= of == setting ? is == value : row[of] == is;
    }
    if (has && all) return &refused;
  }
  return nullptr;
}

/// Fills in the settings that a row leaves open. Returns false if one of them had no value, and notes why.
bool Draw::fill(Combination& row) {
  std::vector<std::size_t> set, open;
  for (std::size_t i = 0; i < row.size(); ++i) (row[i] == kNone ? open : set).push_back(i);
  while (!open.empty()) {
    const std::size_t at = random_.below(static_cast<std::uint32_t>(open.size())), setting = open[at];
    std::swap(open[at], open.back());
    open.pop_back();
    std::uint32_t most = 0, equals = 0;
    std::uint8_t best = kNone;
    Refused because;
    for (std::uint8_t value = 0; value < settings_[setting].values.size(); ++value) {
      if (const Refused* refused = conflict(row, setting, value)) {
        for (const auto& one : refused->what)
          if (one.first != setting && std::ranges::find(because.what, one) == because.what.end())
            because.what.push_back(one);
        continue;
      }
      row[setting] = value;
      std::uint32_t brings = 1;
      for (std::size_t i = 0; i < set.size(); ++i)
        for (std::size_t j = i + 1; j < set.size(); ++j)
          brings += (triples_[triple(set[i], set[j], setting, row)] & (kIsPlanned | kIsExcluded)) == 0;
      if (brings < most) continue;
      equals = brings > most ? 1 : equals + 1;
      most = brings;
      if (random_.one_in(equals)) best = value;
    }
    row[setting] = best;
    if (best == kNone) return learn(std::move(because)), false;
    set.push_back(setting);
  }
  return true;
}

/// Excludes the triples that contain what is refused.
void Draw::learn(Refused refused) {
  if (refused.what.empty()) throw std::logic_error("no engine can be drawn");
  if (refused.what.size() <= 3)
    each_triple([&](std::size_t number, const Combination& row) {
      if (std::ranges::all_of(refused.what, [&](const auto& one) { return row[one.first] == one.second; }))
        triples_[number] |= kIsExcluded;
      return true;
    });
  refused_.push_back(std::move(refused));
}

/// Returns the values of a row that matter to its refusal: those in whose place another value is not refused, or, if
/// `strictly`, is refused for another reason.
Refused Draw::cause_of(Combination row, std::uint64_t seed, const std::string& why, bool strictly) const {
  const auto words_of = [](std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  };
  Refused refused{{}, why, 1};
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::uint8_t has = row[i];
    std::uint8_t same = kNone;
    bool matters = false;
    for (std::uint8_t value = 0; value < settings_[i].values.size() && !matters; ++value) {
      if (value == has) continue;
      row[i] = value;
      const std::string other = refuses_(row, seed);
      const bool is_same = words_of(other) == words_of(why);
      matters = strictly ? !is_same : other.empty();
      if (is_same) same = value;
    }
    row[i] = matters || same == kNone ? has : same;
    if (matters) refused.what.emplace_back(i, has);
  }
  return refused;
}

/// Learns why a row is refused. Its cause must be one beside all other values.
void Draw::refused_row(const Combination& row, std::uint64_t seed, const std::string& why) {
  constexpr int kTries = 8;
  for (const bool strictly : {false, true}) {
    Refused refused = cause_of(row, seed, why, strictly);
    bool always = true;
    for (int i = 0; i < kTries && always; ++i) {
      Combination other(row.size(), 0);  // the first time: beside the plainest values
      for (std::size_t j = 0; i > 0 && j < other.size(); ++j)
        other[j] = static_cast<std::uint8_t>(random_.below(static_cast<std::uint32_t>(settings_[j].values.size())));
      for (const auto& [setting, value] : refused.what) other[setting] = value;
      always = !refuses_(other, random_.next()).empty();
    }
    if (always) return learn(std::move(refused));
    if (strictly)
      throw std::runtime_error(
          fmt::format("{} is refused only beside some values or numbers: {}", text_of(refused), refused.why));
  }
}

const Combination& Draw::next() {
  for (;;) {
    row_.assign(settings_.size(), kNone);
    if (!find_target(row_)) {
      ++passes_;
      for (std::uint8_t& triple : triples_) triple &= static_cast<std::uint8_t>(~kIsPlanned);
      continue;
    }
    if (!fill(row_)) continue;
    row_seed_ = random_.next();
    const std::string why = refuses_(row_, row_seed_);
    if (why.empty()) break;
    refused_row(row_, row_seed_, why);
  }
  each_triple_of(row_, [&](std::size_t triple) { triples_[triple] |= kIsPlanned; });
  return row_;
}

void Draw::drawn(const Combination& row) {
  each_triple_of(row, [&](std::size_t triple) { triples_[triple] |= kIsDrawn; });
}

std::uint64_t Draw::excluded() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(triples_, [](std::uint8_t of) { return (of & (kIsExcluded | kIsDrawn)) == kIsExcluded; }));
}

std::vector<std::string> Draw::undrawn() const {
  std::vector<std::string> all;
  each_triple([&](std::size_t number, const Combination& row) {
    if ((triples_[number] & (kIsExcluded | kIsDrawn)) != 0) return true;
    Refused triple;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i] != kNone) triple.what.emplace_back(i, row[i]);
    all.push_back(text_of(triple));
    return true;
  });
  return all;
}

std::string Draw::text_of(const Refused& refused) const {
  std::string text;
  for (const auto& [setting, value] : refused.what)
    text +=
        fmt::format("{}{} = {}", text.empty() ? "" : ", ", settings_[setting].name, settings_[setting].values[value]);
  return text;
}

}  // namespace canopy::check
