#pragma once

#include <canopy/plugin.h>

#include <algorithm>

namespace canopy::eviction {

/// Second chance (Corbato, 1968): first in, first out, but who was hit since it last stood at the head goes to the
/// back of the queue instead of leaving. The tag keeps the hits seen then.
struct Clock final : EvictionStrategy {
  static constexpr const char* kRule =
      "what was created first is evicted first, unless it was hit since it last came up: then it is created again";
  PolicyText describe() const override { return {kRule, "in the queue since {minor:ago}"}; }
  Rank rank(const NodeFacts& node) override { return {0, std::max(node.created, node.spared)}; }
  bool spare(const NodeFacts& node) override {
    if (node.hits <= *node.tag) return false;
    *node.tag = node.hits;
    return true;
  }
};

/// Least frequently used with dynamic ageing (Arlitt et al., 2000): a use is worth one more than what left last,
/// so that yesterday's favourites cannot stay for ever. Being inserted is a use: were a prefix worth nothing before
/// its first hit, the age would stand still as long as such prefixes are there to leave. The tag keeps the age at
/// the last use (above) and, one more, the hits it was taken at (below): 0 is a node that was never asked about.
class LfuDa final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "the least hits are evicted first, where a hit is worth more the later it came; then what was used longest ago";
  PolicyText describe() const override { return {kRule, "worth {major}, used {minor:ago}"}; }
  Rank rank(const NodeFacts& node) override {
    const std::uint64_t seen = std::uint64_t{node.hits} + 1;
    if (static_cast<std::uint32_t>(*node.tag) != static_cast<std::uint32_t>(seen)) *node.tag = age_ << 32 | seen;
    return {worth(node), node.last_access};
  }
  void evicted(const NodeFacts& node) override { age_ = std::max(age_, worth(node)); }

 private:
  static std::uint64_t worth(const NodeFacts& node) { return (*node.tag >> 32) + node.hits + 1; }

  std::uint64_t age_ = 0;
};

}  // namespace canopy::eviction
