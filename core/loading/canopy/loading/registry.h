#pragma once

#include <canopy/plugin.h>
#include <canopy/support/result.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

class PluginFile;

/// How far a folder of plugins is believed.
enum class Trust {
  as_ourselves,  ///< the folder beside our own executable: whoever can write there can replace the executable
  strict,        ///< a folder somebody named: owner and mode of the file and of every folder above it are checked
};

/// One thing a plugin offers, as lists and messages show it.
struct Offer {
  std::string interface;  ///< "EvictionStrategy"
  std::string name, summary;
  std::string version;  ///< the plugin's
  std::filesystem::path file;
  const CanopyComponent* component = nullptr;

  /// Whether it can be had on this machine; `what` is what it found, empty if it needs nothing.
  bool here(std::string& what) const;
};

struct Refusal {
  std::filesystem::path file;
  std::string why;  ///< one sentence
};

/// The components that can be named in a configuration, and the report of what was refused and why. A file
/// that cannot be used never stops the others.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  /// Offers all that the `*.so` files of a folder have, in the order of their names.
  void scan(const std::filesystem::path& folder, Trust trust);
  /// One file; its offers, or the reasons against it, are also in offers() and refusals() from now on.
  /// A file that is here already, whatever name it comes by, changes nothing.
  void add(const std::filesystem::path& file, Trust trust);

  const std::vector<Offer>& offers() const { return offers_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }

  /// `interface` is an Interface::kInterface; null if nobody offers the name.
  const Offer* find(std::string_view interface, std::string_view name) const;
  /// Every name that is offered for an interface, sorted.
  std::vector<std::string> names(std::string_view interface) const;
  /// How many files were refused, to stand behind a message about a name that nobody offers: one of them may be
  /// the reason. Empty if none was.
  std::string refusals_in_short() const;

  /// An instance; it holds the library it came from, so code is never unmapped under a live object.
  /// The error is empty if `options` has already told the user what is wrong with them.
  template <class Interface>
  Result<std::shared_ptr<Interface>> create(std::string_view name, Options& options,
                                            const typename Interface::Context& context) const {
    auto instance = create_erased(Interface::kInterface, name, options, &context);
    if (!instance) return instance.error();
    return std::static_pointer_cast<Interface>(*std::move(instance));
  }

 private:
  Result<std::shared_ptr<void>> create_erased(std::string_view interface, std::string_view name, Options& options,
                                              const void* context) const;

  std::vector<std::shared_ptr<PluginFile>> files_;
  std::vector<Offer> offers_;
  std::vector<Refusal> refusals_;
};

/// The folder of plugins that belongs to the running program: ../plugins, or ../lib/canopy/plugins once
/// installed, seen from the executable.
std::filesystem::path own_plugin_folder();

}  // namespace canopy
