/// Ranges and defaults of the options: a contract with files that exist. A change must be made in options.txt as well.
#include <canopy/base/option_walkers.h>
#include <canopy/engine/engine_file.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <support/source_folder.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

using namespace canopy;
using namespace canopy::test;

namespace {

std::string lines_of(const std::string& name, const std::vector<OptionHelp>& options) {
  std::string text;
  for (const OptionHelp& option : options) {
    // The components depend on the build.
    const std::string_view last = std::string_view(option.range).substr(option.range.rfind(' ') + 1);
    const bool component = std::any_of(plugins().offers().begin(), plugins().offers().end(),
                                       [&](const Offer& offer) { return offer.name == last; });
    text += fmt::format("{} {}: {}; {}\n", name, option.name, component ? "a component" : option.range,
                        option.value.empty() ? "required" : "default " + option.value);
  }
  return text;
}

}  // namespace

TEST_CASE("options have the ranges and defaults that are written down, for the engine and each component") {
  std::string found = lines_of("engine", describe_engine_config(plugins()));
  std::set<std::string> names = {"engine"};
  std::vector<const Offer*> offers;
  for (const Offer& offer : plugins().offers()) offers.push_back(&offer);
  std::sort(offers.begin(), offers.end(), [](const Offer* a, const Offer* b) { return a->name < b->name; });
  for (const Offer* offer : offers) {
    found += lines_of(offer->name, help_of(offer->component->options));
    names.insert(offer->name);
  }
  std::ifstream file(std::string(kSourceFolder) + "/tests/core/engine/options.txt");
  REQUIRE(file.good());
  std::string expected;
  for (std::string line; std::getline(file, line);)
    if (names.contains(line.substr(0, line.find(' ')))) expected += line + "\n";
  std::istringstream is(found), was(expected);
  for (std::string a, b; std::getline(is, a) && std::getline(was, b);) CHECK(a == b);
  CHECK(found == expected);
}
