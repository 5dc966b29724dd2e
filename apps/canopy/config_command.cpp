#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include "commands.h"
#include "terminal.h"

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

int describe_config(const PluginFolders& folders) {
  const Terminal terminal = Terminal::of_stdout();
  fmt::print(
      "{}  every key of the file that describes it; a component may be {{ name: {{ options }} }}, see `canopy "
      "plugins describe NAME`\n",
      terminal.bold("an engine"));
  print_options(describe_engine_config(load_plugins(folders)), terminal);
  return kFine;
}

}  // namespace canopy::app
