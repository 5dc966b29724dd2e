#pragma once

#include <program/mismatch.h>

#include <canopy/base/registry.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// The component under test, if it is not every plugin beside the program.
struct Subject {
  std::filesystem::path file;
  std::filesystem::path ours;  ///< folder of plugins for the other components
  std::string component;       ///< name of the component; empty: all in the file
};
/// Restricts the tests to a subject. REQUIRES: plugins() has not been called yet.
void test_only(Subject subject);

/// Returns the plugins beside the test program, loaded once; or the subject's, before ours.
const Registry& plugins();
/// Returns the components that the suites run over: the subject's, or all.
std::vector<const Offer*> offers_under_test();

/// Returns an instance with options as YAML flow text ("{ accounting: sglang }"). Throws a Mismatch if it cannot be
/// made.
template <class Interface>
std::shared_ptr<Interface> make(std::string_view name, const typename Interface::Context& context,
                                const std::string& options = {}) {
  auto made = plugins().make<Interface>(name, context, options);
  if (!made) disagree("{}: {}", name, made.error().text);
  return *made;
}

/// Returns the sorted names under test for `interface`, an Interface::kInterface.
std::vector<std::string> names_under_test(std::string_view interface);

/// Returns every name under test for the interface. Never empty, so that no suite tests nothing.
template <class Interface>
std::vector<std::string> names_of() {
  auto names = names_under_test(Interface::kInterface);
  if (names.empty()) disagree("no plugin offers {}", Interface::kInterface);
  return names;
}

}  // namespace canopy::test
