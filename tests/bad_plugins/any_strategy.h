#pragma once

#include <canopy/plugin.h>

/// The policy of the refused plugins, for the case that they are not refused.
class AnyStrategy final : public canopy::EvictionStrategy {
 public:
  canopy::Rank rank(const canopy::NodeFacts& node) override { return {0, node.last_access}; }
};

inline constexpr CanopyComponent kAnyComponents[] = {
    canopy::provide<canopy::EvictionStrategy, AnyStrategy>("any", "would work, if its descriptor did")};

/// As CANOPY_PLUGIN, with a descriptor of the test's choice.
#define CANOPY_DESCRIPTOR(...)                                                           \
  extern "C" [[gnu::visibility("default")]] constinit const CanopyPlugin canopy_plugin_; \
  constinit const CanopyPlugin canopy_plugin_ = {__VA_ARGS__}
