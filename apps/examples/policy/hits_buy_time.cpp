#include <canopy/plugin.h>

#include <algorithm>

/// LRU in which hits count: each hit makes a prefix look `ticks` younger, up to `most` hits.
class HitsBuyTime final : public canopy::EvictionStrategy {
 public:
  struct Config {
    std::uint64_t ticks = 100, most = 4;
    void visit(canopy::Options& o) {
      o.number("ticks", ticks, 0, 1'000'000,
               "ticks by which a hit makes a prefix younger; a request takes about 4 ticks");
      o.number("most", most, 0, 1'000'000, "maximum number of hits that count");
    }
  };
  explicit HitsBuyTime(const Config& config) : config_(config) {}

  /// The smallest rank is evicted first.
  canopy::Rank rank(const canopy::NodeFacts& node) override {
    return {node.last_access + config_.ticks * std::min<std::uint64_t>(node.hits, config_.most), 0};
  }

 private:
  Config config_;
};

CANOPY_PLUGIN("1.0.0",
              canopy::provide<canopy::EvictionStrategy, HitsBuyTime>("hits_buy_time", "LRU in which hits count"));
