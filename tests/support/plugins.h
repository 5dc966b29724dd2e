#pragma once

#include "mismatch.h"

#include <canopy/registry.h>
#include <canopy/yaml_options.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// The plugins beside the test program, loaded once.
const Registry& plugins();

/// An instance with options as YAML flow text ("{ accounting: sglang }"); a Mismatch if it cannot be had.
template <class Interface>
std::shared_ptr<Interface> make(std::string_view name, const typename Interface::Context& context,
                                const std::string& options = "{}") {
  const auto document = parse_yaml(options, std::string(name));
  if (!document) disagree("{}", document.error().text);
  Complaints complaints;
  YamlOptions walker(*document, std::string(name), complaints);
  auto made = plugins().create<Interface>(name, walker, context);
  walker.finish();
  if (!complaints.empty()) disagree("{}", complaints.front());
  if (!made) disagree("{}: {}", name, made.error().text);
  return *made;
}

/// Every name that a loaded plugin offers for the interface; never none, so that no suite runs over nothing.
template <class Interface>
std::vector<std::string> names_of() {
  auto names = plugins().names(Interface::kInterface);
  if (names.empty()) disagree("no plugin offers {}", Interface::kInterface);
  return names;
}

}  // namespace canopy::test
