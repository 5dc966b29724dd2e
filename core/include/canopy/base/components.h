#pragma once

#include <canopy/options.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

/// A walk over a component's options, as in `CanopyComponent::options`.
using Walk = std::function<void(Options&)>;

/// The components that an option may name.
class Components {
 public:
  /// Returns the walk over a component's options. Empty if no plugin offers the name.
  virtual Walk options_of(std::string_view interface, std::string_view name) const = 0;
  /// Returns the sorted names of all components with an interface.
  virtual std::vector<std::string> names(std::string_view interface) const = 0;
  /// Returns an error message, "no KV store is called 'hots'", with the known names. `why_this`: text after the name,
  /// such as its source; may be empty.
  virtual std::string unknown(std::string_view interface, std::string_view name, std::string_view why_this) const = 0;
  /// Returns the name of an interface for messages: "an eviction strategy".
  virtual std::string kind_of(std::string_view interface) const = 0;

 protected:
  ~Components() = default;
};

}  // namespace canopy
