#include "configuration.h"

#include <canopy/engine/engine_file.h>
#include <nanobind/stl/string.h>

#include "registry.h"

namespace canopy::python {

YamlNode document_of(nb::handle config) {
  if (nb::isinstance<nb::dict>(config)) return take(parse_yaml(yaml_of(config), "config"));
  if (!nb::isinstance<nb::str>(config) && !nb::hasattr(config, "__fspath__"))
    throw nb::type_error("an engine's configuration is a path, YAML text or a dictionary");
  const std::string text = for_system(
      nb::cast<std::string>(nb::str(nb::hasattr(config, "__fspath__") ? config.attr("__fspath__")() : config)));
  const bool is_text = nb::isinstance<nb::str>(config) && text.find_first_of("\n{") != std::string::npos;
  return take(is_text ? parse_yaml(text, "config") : parse_yaml_file(text));
}

void set_values(YamlNode& document, nb::handle changes) {
  if (changes.is_none()) return;
  for (const auto [key, value] : nb::cast<nb::dict>(changes))
    take(set_value(document, nb::cast<std::string>(nb::str(key)) + "=" + yaml_of(value)));
}

std::vector<std::string> groups_of(const YamlNode& document) {
  std::vector<std::string> names;
  if (const YamlNode* const groups = document.find("groups"))
    for (const auto& [group, value] : groups->entries) names.push_back(group.scalar);
  return names;
}

EngineConfig config_of(const YamlNode& document) { return take(read_engine_config(document, registry())); }

}  // namespace canopy::python
