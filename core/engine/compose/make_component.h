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

/// The component behind its guard, which takes `more` besides.
template <class Guarded, class Interface, class... More>
std::shared_ptr<Guarded> guarded(std::shared_ptr<Interface> made, const std::string& name, const Registry& registry,
                                 More&... more) {
  return std::make_shared<Guarded>(std::move(made), registry.component(Interface::kInterface, name), more...);
}

}  // namespace canopy
