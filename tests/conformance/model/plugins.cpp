#include "plugins.h"

#include <algorithm>
#include <cstdio>
#include <system_error>

namespace canopy::test {

namespace {

Subject& subject() {
  static Subject subject;
  return subject;
}

}  // namespace

void test_only(Subject only) {
  std::error_code unreachable;
  only.file = std::filesystem::canonical(only.file, unreachable);
  subject() = std::move(only);
}

const Registry& plugins() {
  static const Registry loaded = [] {
    Registry registry;
    // Added first, so that it has precedence if ours offer the same name.
    if (!subject().file.empty()) registry.add(subject().file, Trust::as_ourselves);
    registry.scan(subject().ours.empty() ? own_plugin_folder() : subject().ours, Trust::as_ourselves);
    return registry;
  }();
  return loaded;
}

std::vector<const Offer*> offers_under_test() {
  std::vector<const Offer*> under_test;
  for (const Offer& offer : plugins().offers())
    if ((subject().file.empty() || offer.file == subject().file) &&
        (subject().component.empty() || offer.name == subject().component))
      under_test.push_back(&offer);
  return under_test;
}

/// Returns false, with a message on stderr, for a component that needs a device which this machine lacks.
static bool is_here(const Offer& offer) {
  std::string what;
  if (offer.available(what)) return true;
  std::fprintf(stderr, "not tried: %s (%s)\n", offer.name.c_str(), what.c_str());
  return false;
}

std::vector<std::string> names_under_test(std::string_view interface) {
  std::vector<std::string> names;
  for (const Offer* offer : offers_under_test())
    if (plugins().find(interface, offer->name) == offer && is_here(*offer)) names.push_back(offer->name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace canopy::test
