#include <canopy/base/interface_version.h>
#include <canopy/base/nearest_name.h>
#include <canopy/base/plugin_call.h>
#include <canopy/base/registry.h>
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "plugin_file.h"

namespace canopy {
namespace {

namespace fs = std::filesystem;

struct KnownInterface {
  std::string_view versioned;
  std::string_view in_words;
};

constexpr KnownInterface kInterfaces[] = {
    {EvictionStrategy::kInterface, "eviction strategy"},
    {KeyCodec::kInterface, "key codec"},
    {KVStore::kInterface, "KV store"},
    {PageStorage::kInterface, "page storage"},
    {PrefixIndex::kInterface, "prefix index"},
    {SlotAllocator::kInterface, "slot allocator"},
};

/// Returns the name of an interface in lists: "EvictionStrategy" for "canopy.EvictionStrategy/1.0".
std::string_view short_name(std::string_view interface) {
  const std::string_view whole = interface.substr(0, interface.find('/'));
  return whole.substr(whole.rfind('.') + 1);
}

std::string_view in_words(std::string_view interface) {
  for (const KnownInterface& known : kInterfaces)
    if (short_name(known.versioned) == short_name(interface)) return known.in_words;
  return short_name(interface);
}

std::string why_not_ours(std::string_view name, std::string_view implements) {
  std::string all;
  for (const KnownInterface& known : kInterfaces) {
    if (accepts(known.versioned, implements)) return {};
    if (short_name(known.versioned) == short_name(implements))
      return fmt::format("component '{}' implements {}; this host has {}", name, implements, known.versioned);
    all += (all.empty() ? "" : ", ") + std::string(known.versioned);
  }
  return fmt::format("component '{}' implements {}; this host has {}", name, implements, all);
}

/// Returns an error message if a component cannot be offered, else an empty text. `number`: place in the plugin from 1,
/// in place of a missing name.
std::string why_not_offered(const CanopyComponent& component, std::size_t number) {
  if (component.name == nullptr || *component.name == '\0') return fmt::format("component {} has no name", number);
  if (component.implements == nullptr)
    return fmt::format("component '{}' does not name the interface that it implements", component.name);
  if (component.summary == nullptr) return fmt::format("component '{}' has no summary", component.name);
  if (component.create == nullptr) return fmt::format("component '{}' has no function create", component.name);
  if (component.destroy == nullptr) return fmt::format("component '{}' has no function destroy", component.name);
  if (component.options == nullptr) return fmt::format("component '{}' has no function options", component.name);
  return why_not_ours(component.name, component.implements);
}

void keep_reason(void* reason, const char* text) noexcept {
  try {
    if (text != nullptr) *static_cast<std::string*>(reason) = text;
  } catch (...) {  // a lack of memory for the reason must not become an exception in the plugin
  }
}

/// The part of a component of this program that walks over its options: it has none.
constexpr CanopyComponent kWithoutOptions = {nullptr, nullptr, nullptr, nullptr, nullptr, [](Options&) noexcept {},
                                             nullptr};

}  // namespace

bool Offer::available(std::string& what) const {
  const auto say = [](void* to, const char* text) { *static_cast<std::string*>(to) = text; };
  return !component->available || component->available(say, &what);
}

Registry::Registry() = default;
Registry::~Registry() = default;
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;

void Registry::scan(const fs::path& folder, Trust trust) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".so") files.push_back(at->path());
  if (failed) refusals_.push_back({folder, fmt::format("the folder cannot be read: {}", failed.message())});
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add(file, trust);
}

void Registry::add(const fs::path& file, Trust trust) {
  std::error_code unreachable;
  const fs::path real = fs::canonical(file, unreachable);
  const auto is_it = [&](const auto& known) { return known->path() == real; };
  if (!unreachable && std::any_of(plugins_.begin(), plugins_.end(), is_it)) return;

  auto loaded = load_plugin_file(file, trust);
  if (!loaded) return refusals_.push_back({file, loaded.error().text});
  offer_all(*std::move(loaded), file);
}

void Registry::add(const CanopyPlugin& plugin, const std::string& called) {
  if (std::ranges::any_of(plugins_, [&](const auto& known) { return &known->descriptor() == &plugin; })) return;
  auto checked = LoadedPlugin::check(called, nullptr, plugin);
  if (!checked) return refusals_.push_back({called, checked.error().text});
  offer_all(*std::move(checked), called);
}

Result<std::monostate> Registry::add_own(const char* interface, const std::string& name, const std::string& summary,
                                         std::function<std::shared_ptr<void>()> make) {
  if (name.empty()) return Error{fmt::format("{} without a name", with_article(interface))};
  if (const Offer* first = find(interface, name))
    return Error{fmt::format("{} is called {} already ({})", with_article(interface), in_quotes(name),
                             first->file.filename().string())};
  offers_.push_back({std::string(short_name(interface)), minor_version(interface).value_or(0), name, summary, "",
                     "this program", &kWithoutOptions, std::move(make)});
  return std::monostate{};
}

void Registry::offer_all(std::shared_ptr<LoadedPlugin> plugin, const fs::path& given) {
  const std::size_t offered_before = offers_.size();
  for (std::size_t i = 0; i < plugin->descriptor().count; ++i) {
    const CanopyComponent& component = plugin->component(i);
    std::string why = why_not_offered(component, i + 1);
    if (const Offer* first = why.empty() ? find(component.implements, component.name) : nullptr)
      why = fmt::format("its {} '{}' is not used: {} already offers that name", in_words(component.implements),
                        component.name, first->file.string());
    if (!why.empty()) refusals_.push_back({given, std::move(why)});
    else
      offers_.push_back({std::string(short_name(component.implements)),
                         minor_version(component.implements).value_or(0),
                         component.name,
                         component.summary,
                         plugin->descriptor().version,
                         plugin->path(),
                         &component,
                         {}});
  }
  if (offers_.size() > offered_before) plugins_.push_back(std::move(plugin));
}

const Offer* Registry::find(std::string_view interface, std::string_view name) const {
  const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& offer) {
    return offer.name == name && offer.interface == short_name(interface);
  });
  return found == offers_.end() ? nullptr : &*found;
}

std::vector<std::string> Registry::names(std::string_view interface) const {
  std::vector<std::string> out;
  for (const Offer& offer : offers_)
    if (offer.interface == short_name(interface)) out.push_back(offer.name);
  std::sort(out.begin(), out.end());
  return out;
}

Walk Registry::options_of(std::string_view interface, std::string_view name) const {
  const Offer* const offer = find(interface, name);
  return offer ? Walk(offer->component->options) : Walk();
}

std::string Registry::with_article(std::string_view interface) {
  const std::string_view words = in_words(interface);
  return fmt::format("{} {}", words.starts_with('e') ? "an" : "a", words);
}

std::string Registry::component(std::string_view interface, std::string_view name) const {
  const Offer* const offer = find(interface, name);
  return fmt::format("{} '{}' ({})", in_words(interface), name, offer ? offer->file.filename().string() : "");
}

std::string Registry::unknown(std::string_view interface, std::string_view name, std::string_view why_this) const {
  std::string text = fmt::format("no {} is called {}{}", in_words(interface), in_quotes(name), why_this);
  for (const KnownInterface& other : kInterfaces)
    if (find(other.versioned, name)) text += "; that is " + with_article(other.versioned);
  text += did_you_mean(name, names(interface));
  std::set<fs::path> files;
  for (const Refusal& refusal : refusals_) {
    std::error_code unreachable;
    const fs::path real = fs::canonical(refusal.file, unreachable);
    files.insert(unreachable ? refusal.file : real);
  }
  if (files.empty()) return text;
  return text + fmt::format("   ({} refused, see `canopy plugins`)",
                            files.size() == 1 ? "1 plugin was" : fmt::format("{} plugins were", files.size()));
}

Registry::Erased Registry::make_erased(std::string_view interface, std::string_view name, const std::string& options,
                                       const void* context) const {
  YamlNode node;  // most components have no options, and the text is then not parsed
  if (!options.empty()) {
    auto parsed = parse_yaml(options, std::string(name));
    if (!parsed) return parsed.error();
    node = *std::move(parsed);
  }
  Complaints complaints;
  YamlOptions walker(node, std::string(name), complaints);
  auto made = create_erased(interface, name, walker, context);
  // Also where it cannot be created: a name that it does not know may be the reason.
  if (find(interface, name)) walker.finish();
  if (!complaints.empty()) return Error{complaints.front()};
  return made;
}

Registry::Erased Registry::create_erased(std::string_view interface, std::string_view name, Options& options,
                                         const void* context) const {
  const Offer* offer = find(interface, name);
  if (offer == nullptr) return Error{unknown(interface, name)};
  if (offer->make) {
    offer->component->options(options);
    if (auto made = offer->make()) return made;
    return Error{fmt::format("{} '{}' cannot be created ({})", in_words(interface), name, offer->file.string())};
  }
  const auto plugin =
      *std::ranges::find_if(plugins_, [&](const auto& candidate) { return candidate->path() == offer->file; });
  std::string reason;
  std::string called = component(interface, name);
  void* instance = nullptr;
  {
    const InPlugin in(called.c_str(), "create");
    instance = offer->component->create(options, context, keep_reason, &reason);
  }
  if (instance != nullptr)
    return std::shared_ptr<void>(instance,
                                 [plugin, called = std::move(called), destroy = offer->component->destroy](void* gone) {
                                   const InPlugin in(called.c_str(), "destroy");
                                   destroy(gone);
                                 });
  if (reason.empty() && !options.ok()) return Error{};
  return Error{fmt::format("{} '{}' cannot be created: {} ({})", in_words(interface), name,
                           reason.empty() ? "no reason was given" : reason, offer->file.filename().string())};
}

fs::path own_plugin_folder() {
  std::error_code failed;
  const fs::path programs = fs::read_symlink("/proc/self/exe", failed).parent_path();
  const fs::path built = programs.parent_path() / "plugins";
  return fs::is_directory(built, failed) ? built : (programs / CANOPY_PLUGINS_FROM_PROGRAMS).lexically_normal();
}

}  // namespace canopy
