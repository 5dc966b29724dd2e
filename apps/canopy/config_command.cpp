#include <canopy/base/printable.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>
#include <workload/generator.h>

#include "commands.h"
#include "terminal.h"

namespace canopy::app {

namespace {

/// Checks an engine's file, or a workload's.
Result<std::monostate> check(const std::string& file, const std::vector<std::string>& assignments,
                             const Registry& registry) {
  auto document = parse_yaml_file(file);
  if (!document) return document.error();
  if (document->find("mix") && !document->find("groups")) {
    for (const std::string& assignment : assignments)
      if (auto set = set_value(*document, assignment); !set) return set.error();
    const auto workload = workload::make_generator(*document);
    if (!workload) return workload.error();
    return std::monostate{};
  }
  const auto config = load_engine_config(file, assignments, registry);
  if (!config) return config.error();
  return std::monostate{};
}

}  // namespace

int check_config(const std::string& file, const std::vector<std::string>& assignments, const PluginFolders& folders) {
  const auto fine = check(file, assignments, load_plugins(folders));
  if (!fine) return unusable(fine.error().text);
  fmt::print("{}: fine\n", printable(file));
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
      "{}  every key of its file; a component with options is {{ name: {{ options }} }}, see `canopy plugins describe "
      "NAME`\n",
      terminal.bold("an engine"));
  print_options(describe_engine_config(load_plugins(folders)), terminal);
  return kFine;
}

}  // namespace canopy::app
