#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine_config.h>

#include <memory>

namespace canopy {

/// Creates a component of an engine with its options.
template <class Interface>
Result<std::shared_ptr<Interface>> make_component(const ComponentConfig& config, const Registry& registry,
                                                  const typename Interface::Context& context) {
  auto made = registry.make<Interface>(config.name, context, config.options);
  if (!made && !config.where.empty()) return Error{config.where + ": " + made.error().text};
  return made;
}

/// Creates the port of a component; `more` are further arguments of the port.
template <class PortOf, class Interface, class... More>
std::shared_ptr<PortOf> make_port(std::shared_ptr<Interface> made, const std::string& name, const Registry& registry,
                                  More&... more) {
  return std::make_shared<PortOf>(std::move(made), registry.component(Interface::kInterface, name), more...);
}

}  // namespace canopy
