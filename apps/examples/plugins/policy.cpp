#include <canopy/plugin.h>

/// Describe here the node that is evicted first, and the reason. Facts and calls: canopy/eviction_strategy.h.
class Example final : public canopy::EvictionStrategy {
 public:
  struct Config {
    std::uint64_t protect_after = 2;
    void visit(canopy::Options& o) { o.number("protect_after", protect_after, 1, 64, "hits that protect a prefix"); }
  };
  explicit Example(const Config& config) : protect_after_(config.protect_after) {}

  /// Returns the rank of a node. The node with the smallest rank is evicted first.
  canopy::Rank rank(const canopy::NodeFacts& node) override { return {node.hits >= protect_after_, node.last_access}; }

 private:
  std::uint64_t protect_after_;
};

CANOPY_PLUGIN("0.1.0",
              canopy::provide<canopy::EvictionStrategy, Example>("example",
                                                                 "describe in one line what is evicted first"));
