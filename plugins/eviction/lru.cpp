#include <canopy/plugin.h>

namespace {

/// What was used longest ago leaves first.
class Lru final : public canopy::EvictionStrategy {
 public:
  canopy::Rank rank(const canopy::NodeFacts& node) override { return {0, node.last_access}; }
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, Lru>("lru", "what was used longest ago leaves first"));
