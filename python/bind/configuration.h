#pragma once

#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine_config.h>
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace canopy::python {

/// An engine's configuration as a document: a dictionary, a path, or YAML text (a str with a line end or a brace in
/// it).
YamlNode document_of(nb::handle config);

/// Changes on top of a document: {"groups.full.capacity": 3000000}, or None.
void set_values(YamlNode& document, nb::handle changes);

/// The names of a document's groups, in order.
std::vector<std::string> groups_of(const YamlNode& document);

EngineConfig config_of(const YamlNode& document);

}  // namespace canopy::python
