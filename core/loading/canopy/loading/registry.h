#pragma once

#include <canopy/plugin.h>
#include <canopy/support/result.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

class LoadedPlugin;

/// How far the files of a folder are trusted.
enum class Trust {
  as_ourselves,  ///< the folder beside the running executable: a user who can write there can replace the executable
  strict,        ///< a folder that the user named: owner and mode of the file and of every folder above it are checked
};

/// One component of a plugin, as lists and messages show it.
struct Offer {
  std::string interface;  ///< "EvictionStrategy"
  std::string name, summary;
  std::string version;         ///< the plugin's
  std::filesystem::path file;  ///< of the plugin; for one that was added without a file, the name it was given
  const CanopyComponent* component = nullptr;

  /// Whether this machine has what the component needs. `what` receives what the component found; it stays empty if
  /// the component needs nothing.
  bool available(std::string& what) const;
};

struct Refusal {
  std::filesystem::path file;  ///< as Offer::file
  std::string why;             ///< one sentence
};

/// The components that a configuration can name, and a report of what was refused and why. A plugin that cannot be
/// used never stops the others.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  /// Adds every `*.so` file of a folder, in the order of their names.
  void scan(const std::filesystem::path& folder, Trust trust);
  /// Adds one file: its components to offers(), the reasons against them to refusals(). A file that was added before,
  /// by this or another path, changes nothing.
  void add(const std::filesystem::path& file, Trust trust);
  /// Adds the components of a plugin that is linked into this program: CANOPY_PLUGIN(...) in one of its sources
  /// defines `canopy_plugin_`. The descriptor is checked like a file's. `called` is the plugin's name in lists and
  /// messages. REQUIRES: `plugin` outlives the registry and what it made.
  void add(const CanopyPlugin& plugin, const std::string& called);

  const std::vector<Offer>& offers() const { return offers_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }

  /// `interface` is an Interface::kInterface; null if no plugin offers the name.
  const Offer* find(std::string_view interface, std::string_view name) const;
  /// Every name that is offered for an interface, sorted.
  std::vector<std::string> names(std::string_view interface) const;
  /// "an eviction strategy": what an interface of this host is called in sentences.
  static std::string with_article(std::string_view interface);
  /// "eviction strategy 'lru' (eviction.so)": a component that is offered, in sentences.
  std::string component(std::string_view interface, std::string_view name) const;
  /// What to say of a name that find() does not know: the nearest name, all known ones, and how many plugins were
  /// refused, since one of them may be the reason. `why_this` says where the name comes from.
  std::string unknown(std::string_view interface, std::string_view name, std::string_view why_this = {}) const;

  /// A component with options as YAML flow text, "{ protect_after: 3 }"; no text: its defaults. The instance keeps
  /// its library mapped. The error is the first thing that is wrong, with its place in the text, or the reason that
  /// the component gives.
  template <class Interface>
  Result<std::shared_ptr<Interface>> make(std::string_view name, const typename Interface::Context& context,
                                          const std::string& options = {}) const {
    return as<Interface>(make_erased(Interface::kInterface, name, options, &context));
  }
  /// The same with options that the caller's walker supplies. The error is empty if the walker has refused them.
  template <class Interface>
  Result<std::shared_ptr<Interface>> create(std::string_view name, Options& options,
                                            const typename Interface::Context& context) const {
    return as<Interface>(create_erased(Interface::kInterface, name, options, &context));
  }

 private:
  using Erased = Result<std::shared_ptr<void>>;
  template <class Interface>
  static Result<std::shared_ptr<Interface>> as(Erased instance) {
    if (!instance) return instance.error();
    return std::static_pointer_cast<Interface>(*std::move(instance));
  }
  Erased make_erased(std::string_view interface, std::string_view name, const std::string& options,
                     const void* context) const;
  Erased create_erased(std::string_view interface, std::string_view name, Options& options, const void* context) const;
  void offer_all(std::shared_ptr<LoadedPlugin> plugin, const std::filesystem::path& asked);

  std::vector<std::shared_ptr<LoadedPlugin>> plugins_;  ///< those with offers
  std::vector<Offer> offers_;
  std::vector<Refusal> refusals_;
};

/// The folder of plugins that belongs to the running program: ../plugins, or ../lib/canopy/plugins once
/// installed, seen from the executable.
std::filesystem::path own_plugin_folder();

}  // namespace canopy
