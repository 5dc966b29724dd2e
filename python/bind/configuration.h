#pragma once

#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine_config.h>
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace canopy::python {

/// Returns an engine's configuration as a document. `config`: a dictionary, a path, or YAML text (a str that contains a
/// line end or a brace).
YamlNode document_of(nb::handle config);

/// Applies changes to a document. `changes`: {"groups.full.capacity": 3000000}, or None.
void set_values(YamlNode& document, nb::handle changes);

/// Returns the names of a document's groups, in order.
std::vector<std::string> groups_of(const YamlNode& document);

EngineConfig config_of(const YamlNode& document);

}  // namespace canopy::python
