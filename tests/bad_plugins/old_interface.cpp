#include "any_strategy.h"

namespace {

constexpr CanopyComponent implementing(const char* interface, const char* name) {
  CanopyComponent component = canopy::provide<canopy::EvictionStrategy, AnyStrategy>(name, "as it says");
  component.implements = interface;
  return component;
}

}  // namespace

CANOPY_PLUGIN("0.9.0", implementing("canopy.EvictionStrategy/3.0", "of_yesterday"),
              implementing("canopy.EvictionStrategy/4.7", "of_tomorrow"),
              implementing("canopy.EvictionStrategy/4", "without_minor"),
              implementing("another.Projects/7.0", "of_others"),
              canopy::provide<canopy::EvictionStrategy, AnyStrategy>("of_today", "stands beside them"));
