#pragma once

#include <span>
#include <string>

namespace canopy::app {

/// The source of a plugin to begin with: a file of apps/examples/plugins, which the contract suite accepts.
struct PluginExample {
  const char* kind;  ///< "policy", "storage"
  std::string text;
};
std::span<const PluginExample> plugin_examples();

}  // namespace canopy::app
