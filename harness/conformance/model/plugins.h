#pragma once

#include "mismatch.h"

#include <canopy/loading/registry.h>
#include <canopy/config/yaml_options.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// What is under test, where that is not every plugin beside the program.
struct Subject {
  std::filesystem::path file;
  std::filesystem::path ours;  ///< the folder of plugins that its partners come from
  std::string component;       ///< its name; empty: each that the file offers
};
/// REQUIRES: plugins() has not been called yet.
void test_only(Subject subject);

/// The plugins beside the test program, loaded once; or those of the subject, in front of ours.
const Registry& plugins();
/// The components that the suites run over: those of the subject, or all there are.
std::vector<const Offer*> offers_under_test();

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

/// The names under test that `interface`, an Interface::kInterface, goes by; sorted.
std::vector<std::string> names_under_test(std::string_view interface);

/// Every name under test that is offered for the interface; never none, so that no suite runs over nothing.
template <class Interface>
std::vector<std::string> names_of() {
  auto names = names_under_test(Interface::kInterface);
  if (names.empty()) disagree("no plugin offers {}", Interface::kInterface);
  return names;
}

}  // namespace canopy::test
