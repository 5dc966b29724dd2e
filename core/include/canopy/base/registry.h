#pragma once

#include <canopy/base/components.h>
#include <canopy/base/result.h>
#include <canopy/plugin.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace canopy {

class LoadedPlugin;

/// Trust in the files of a folder.
enum class Trust {
  as_ourselves,  ///< folder beside the running executable: write access to it would also replace the executable
  strict,        ///< folder named by the user: owner and mode of the file and of every folder above it are checked
};

/// A component of a plugin, for lists and messages.
struct Offer {
  std::string interface;    ///< "EvictionStrategy"
  std::uint32_t minor = 0;  ///< minor version of the component's interface; functions of later versions are missing
  std::string name, summary;
  std::string version;         ///< version of the plugin
  std::filesystem::path file;  ///< file of the plugin; for a plugin without a file, the name given to it
  const CanopyComponent* component = nullptr;
  std::function<std::shared_ptr<void>()> make{};  ///< creates a component of this program; empty: it is a plugin's

  /// Returns true if this machine can run the component. Sets `what` to the component's reason, and leaves it unchanged
  /// if every machine can run it.
  bool available(std::string& what) const;
};

struct Refusal {
  std::filesystem::path file;  ///< as Offer::file
  std::string why;             ///< error message
};

/// The components that a configuration can name, and the refused plugins with the reasons. An unusable plugin never
/// prevents the use of others.
class Registry final : public Components {
 public:
  Registry();
  ~Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  /// Adds every `*.so` file of a folder, in the order of the names.
  void scan(const std::filesystem::path& folder, Trust trust);
  /// Adds the components of one file to offers(), or the reasons against them to refusals(). Does nothing if the file
  /// was added before, by this or another path.
  void add(const std::filesystem::path& file, Trust trust);
  /// Adds the components of a plugin that is linked into this program: CANOPY_PLUGIN(...) in one of its sources defines
  /// `canopy_plugin_`. The descriptor is checked as for a file. `called`: name of the plugin in lists and messages.
  /// REQUIRES: `plugin` outlives the registry and all components that it created.
  void add(const CanopyPlugin& plugin, const std::string& called);
  /// Adds a component of this program that has no options. `make` creates an instance, or returns null if it cannot.
  /// Returns an error if the name is empty or taken.
  template <class Interface>
  Result<std::monostate> add(const std::string& name, const std::string& summary,
                             std::function<std::shared_ptr<Interface>()> make) {
    return add_own(Interface::kInterface, name, summary, std::move(make));
  }

  const std::vector<Offer>& offers() const { return offers_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }

  /// Returns the offer with a name. May be null (no plugin offers the name). `interface`: an Interface::kInterface.
  const Offer* find(std::string_view interface, std::string_view name) const;
  /// Returns the sorted names of all components with an interface.
  std::vector<std::string> names(std::string_view interface) const override;
  Walk options_of(std::string_view interface, std::string_view name) const override;
  /// Returns the name of one of this host's interfaces for messages: "an eviction strategy".
  static std::string with_article(std::string_view interface);
  std::string kind_of(std::string_view interface) const override { return with_article(interface); }
  /// Returns the name of an offered component for messages: "eviction strategy 'lru' (eviction.so)".
  std::string component(std::string_view interface, std::string_view name) const;
  /// Returns an error message for a name that find() does not find, with the nearest name, all known names, and the
  /// number of refused plugins, one of which may have the name.
  std::string unknown(std::string_view interface, std::string_view name, std::string_view why_this = {}) const override;

  /// Creates a component with options as YAML flow text, "{ protect_after: 3 }"; empty: the defaults. The instance
  /// keeps its library mapped. The error is the first mistake with its place in the text, or the component's own one.
  template <class Interface>
  Result<std::shared_ptr<Interface>> make(std::string_view name, const typename Interface::Context& context,
                                          const std::string& options = {}) const {
    return as<Interface>(make_erased(Interface::kInterface, name, options, &context));
  }
  /// Creates a component with the options of the caller's walker. The error is empty if the walker has reported one.
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
  Result<std::monostate> add_own(const char* interface, const std::string& name, const std::string& summary,
                                 std::function<std::shared_ptr<void>()> make);
  void offer_all(std::shared_ptr<LoadedPlugin> plugin, const std::filesystem::path& given);

  std::vector<std::shared_ptr<LoadedPlugin>> plugins_;  ///< plugins with offers
  std::vector<Offer> offers_;
  std::vector<Refusal> refusals_;
};

/// Returns the plugin folder of the running program, relative to the executable: ../plugins in a build folder,
/// ../lib/canopy/plugins (CMAKE_INSTALL_LIBDIR) if installed.
std::filesystem::path own_plugin_folder();

}  // namespace canopy
