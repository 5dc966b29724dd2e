#pragma once

#include <canopy/config/yaml_options.h>
#include <canopy/engine/engine_config.h>
#include <canopy/loading/registry.h>

#include <string>
#include <string_view>

namespace canopy {

/// Reads the component that stands at `called`, "groups.full.eviction": `lru`, `{ lru: {} }` or
/// `{ slru: { protect_after: 3 } }`. Complains unless a plugin offers it for `interface`, an Interface::kInterface, and
/// it takes the options.
void read_component(std::string_view interface, const std::string& called, const YamlNode& value,
                    ComponentConfig& component, const Registry& registry, Complaints& complaints);

}  // namespace canopy
