#pragma once

#include <canopy/config/yaml_options.h>
#include <canopy/loading/registry.h>

#include <memory>
#include <string>
#include <string_view>

#include "prefix_cache.h"

namespace canopy::examples {

/// A component with its default options; a CacheError says why there is none.
template <class Interface>
std::shared_ptr<Interface> make(const Registry& registry, std::string_view name,
                                const typename Interface::Context& context) {
  const auto nothing = parse_yaml("{}", std::string(name));
  Complaints complaints;
  YamlOptions options(*nothing, std::string(name), complaints);
  auto made = registry.create<Interface>(name, options, context);
  if (!made) throw CacheError(made.error().text);
  return *made;
}

}  // namespace canopy::examples
