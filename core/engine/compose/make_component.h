#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/loading/registry.h>

#include <memory>

namespace canopy {

/// The component of an engine, made with its options.
template <class Interface>
Result<std::shared_ptr<Interface>> make_component(const ComponentConfig& config, const Registry& registry,
                                                  const typename Interface::Context& context) {
  auto made = registry.make<Interface>(config.name, context, config.options);
  if (!made && !config.where.empty()) return Error{config.where + ": " + made.error().text};
  return made;
}

}  // namespace canopy
