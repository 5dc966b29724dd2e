#pragma once

#include <canopy/base/registry.h>

#include <memory>
#include <string>
#include <string_view>

#include "prefix_cache.h"

namespace canopy::examples {

/// Makes a component with its default options. Throws CacheError, with the reason, if there is no such component.
template <class Interface>
std::shared_ptr<Interface> make(const Registry& registry, std::string_view name,
                                const typename Interface::Context& context) {
  auto made = registry.make<Interface>(name, context);
  if (!made) throw CacheError(made.error().text);
  return *made;
}

}  // namespace canopy::examples
