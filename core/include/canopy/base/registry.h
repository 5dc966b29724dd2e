#pragma once

#include <canopy/base/components.h>
#include <canopy/base/result.h>
#include <canopy/plugin.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

class LoadedPlugin;

/// Trust in the files of a folder.
enum class Trust {
  as_ourselves,  ///< the folder beside the running executable: write access to it lets one replace the executable too
  strict,        ///< a folder that the user named: owner and mode of the file and of every folder above it are checked
};

/// A component of a plugin, for lists and messages.
struct Offer {
  std::string interface;    ///< "EvictionStrategy"
  std::uint32_t minor = 0;  ///< minor version of the component's interface; later functions are missing
  std::string name, summary;
  std::string version;         ///< version of the plugin
  std::filesystem::path file;  ///< file of the plugin, or the name that a plugin without a file was given
  const CanopyComponent* component = nullptr;

  /// Returns true if this machine has what the component needs. `what` receives what the component found; it stays
  /// empty if the component needs nothing.
  bool available(std::string& what) const;
};

struct Refusal {
  std::filesystem::path file;  ///< as in Offer::file
  std::string why;             ///< one sentence
};

/// The components that a configuration can name, and the plugins that were refused, with reasons. An unusable plugin
/// never prevents the use of others.
class Registry final : public Components {
 public:
  Registry();
  ~Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  /// Adds every `*.so` file of a folder, in the order of their names.
  void scan(const std::filesystem::path& folder, Trust trust);
  /// Adds the components of one file to offers(), or the reasons against them to refusals(). Does nothing if the file
  /// was added before, by this or another path.
  void add(const std::filesystem::path& file, Trust trust);
  /// Adds the components of a plugin that is linked into this program: CANOPY_PLUGIN(...) in one of its sources defines
  /// `canopy_plugin_`. The descriptor is checked as for a file. `called` is the plugin's name in lists and messages.
  /// REQUIRES: `plugin` outlives the registry and everything it made.
  void add(const CanopyPlugin& plugin, const std::string& called);

  const std::vector<Offer>& offers() const { return offers_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }

  /// Returns the offer with a name. `interface` is an Interface::kInterface. Null if no plugin offers the name.
  const Offer* find(std::string_view interface, std::string_view name) const;
  /// Returns the sorted names of all components with an interface.
  std::vector<std::string> names(std::string_view interface) const override;
  Walk options_of(std::string_view interface, std::string_view name) const override;
  /// Returns the name of one of this host's interfaces for messages: "an eviction strategy".
  static std::string with_article(std::string_view interface);
  std::string kind_of(std::string_view interface) const override { return with_article(interface); }
  /// Returns the name of an offered component for messages: "eviction strategy 'lru' (eviction.so)".
  std::string component(std::string_view interface, std::string_view name) const;
  /// Returns an error message for a name that find() does not know: the nearest name, all known ones, and the number of
  /// refused plugins, since one of them may be the reason. `why_this`: the source of the name.
  std::string unknown(std::string_view interface, std::string_view name, std::string_view why_this = {}) const override;

  /// Creates a component with options as YAML flow text, "{ protect_after: 3 }"; without text: its defaults. The
  /// instance keeps its library mapped. The error is the first mistake, with its place in the text, or the component's
  /// own reason.
  template <class Interface>
  Result<std::shared_ptr<Interface>> make(std::string_view name, const typename Interface::Context& context,
                                          const std::string& options = {}) const {
    return as<Interface>(make_erased(Interface::kInterface, name, options, &context));
  }
  /// Creates a component with options that the caller's walker supplies. The error is empty if the walker has refused
  /// them.
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

  std::vector<std::shared_ptr<LoadedPlugin>> plugins_;  ///< plugins with offers
  std::vector<Offer> offers_;
  std::vector<Refusal> refusals_;
};

/// Returns the plugin folder of the running program: ../plugins, or ../lib/canopy/plugins if installed, relative to the
/// executable.
std::filesystem::path own_plugin_folder();

}  // namespace canopy
