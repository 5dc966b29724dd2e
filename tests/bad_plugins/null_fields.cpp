#include "any_strategy.h"

namespace {

constexpr CanopyComponent good(const char* name) {
  return canopy::provide<canopy::EvictionStrategy, AnyStrategy>(name, "as it says");
}
template <class Field>
constexpr CanopyComponent without(Field CanopyComponent::* field, const char* name) {
  CanopyComponent component = good(name);
  component.*field = nullptr;
  return component;
}

}  // namespace

CANOPY_PLUGIN("1.0.0", without(&CanopyComponent::implements, "no_interface"), without(&CanopyComponent::name, ""),
              good(""), without(&CanopyComponent::summary, "no_summary"),
              without(&CanopyComponent::create, "no_create"), without(&CanopyComponent::destroy, "no_destroy"),
              without(&CanopyComponent::options, "no_options"), good("whole"));
