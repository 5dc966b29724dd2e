#pragma once

#include <canopy/engine/engine_config.h>

#include <string>
#include <string_view>

namespace canopy {

/// Reads which component stands where a file needs one, and checks that somebody offers it and takes its options.
/// `interface` is an Interface::kInterface.
class ComponentReader {
 public:
  ComponentReader(const Registry& registry, Complaints& complaints) : registry_(registry), complaints_(complaints) {}

  /// `called` is what messages call the place, "groups.full.eviction".
  void read(std::string_view interface, const std::string& called, const YamlNode& value, ComponentConfig& component);
  /// For a component that the file does not name. `why_this` says in a message where it comes from.
  void check(std::string_view interface, const ComponentConfig& component, const char* why_this);

 private:
  /// The name and the options in `lru`, `{ lru: {} }` or `{ slru: { protect_after: 3 } }`; false with a complaint.
  bool split(std::string_view interface, const std::string& called, const YamlNode& value, ComponentConfig& component);
  void complain(const Mark& mark, const std::string& sentence) { complaints_.push_back(mark.text() + ": " + sentence); }

  const Registry& registry_;
  Complaints& complaints_;
};

}  // namespace canopy
