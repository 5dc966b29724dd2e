#include <fmt/format.h>

#include "commands.h"

namespace canopy::app {

int check_config(const std::string& file, const std::vector<std::string>& assignments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  const auto config = load_engine_config(file, assignments, registry);
  if (!config) return unusable(config.error().text);
  fmt::print("{}: fine\n", file);
  return kFine;
}

int dump_config(const std::string& file, const std::vector<std::string>& assignments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  const auto config = load_engine_config(file, assignments, registry);
  if (!config) return unusable(config.error().text);
  fmt::print("{}", dump_engine_config(*config, registry));
  return kFine;
}

}  // namespace canopy::app
