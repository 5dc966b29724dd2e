#include <canopy/plugin.h>

namespace {

/// Segmented LRU: a prefix that was hit only once leaves before any that earned its place.
class Slru final : public canopy::EvictionStrategy {
 public:
  struct Config {
    std::uint64_t protect_after = 2;
    void visit(canopy::Options& o) { o.number("protect_after", protect_after, 1, 64, "hits that protect a prefix"); }
  };
  explicit Slru(const Config& config) : protect_after_(config.protect_after) {}
  canopy::Rank rank(const canopy::NodeFacts& node) override { return {node.hits >= protect_after_, node.last_access}; }

 private:
  std::uint64_t protect_after_;
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, Slru>("slru", "one-hit prefixes leave first"));
