#include <canopy/plugin.h>

/// Segmented LRU: a prefix that was hit only once leaves before any that earned its place.
class TwoHits final : public canopy::EvictionStrategy {
 public:
  struct Config {
    std::uint64_t protect_after = 2;
    void visit(canopy::Options& o) { o.number("protect_after", protect_after, 1, 64, "hits that protect a prefix"); }
  };
  explicit TwoHits(const Config& config) : protect_after_(config.protect_after) {}
  canopy::Rank rank(const canopy::NodeFacts& node) override { return {node.hits >= protect_after_, node.last_access}; }

 private:
  std::uint64_t protect_after_;
};

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, TwoHits>("two_hits", "one-hit prefixes leave first"));
