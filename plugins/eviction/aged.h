#pragma once

#include <canopy/plugin.h>

#include <algorithm>

namespace canopy::eviction {

/// Second chance (Corbato, 1968): first in, first out, but a node that was hit since it last stood at the head of the
/// queue goes to the back of it instead of being evicted. The tag keeps the hits that it had then.
struct Clock final : EvictionStrategy {
  static constexpr const char* kRule =
      "the oldest node is evicted first, unless it was hit since its last turn: then it counts as new";
  PolicyText describe() const override { return {kRule, "in the queue since {minor:ago}"}; }
  Rank rank(const NodeFacts& node) override { return {0, std::max(node.created, node.spared)}; }
  bool spare(const NodeFacts& node) override {
    if (node.hits <= *node.tag) return false;
    *node.tag = node.hits;
    return true;
  }
};

/// Least frequently used with dynamic ageing (Arlitt et al., 2000): a use is worth one more than the node that was
/// evicted last, so that prefixes that were once popular cannot stay for ever. An insert is a use: if a prefix were
/// worth nothing before its first hit, the age would not rise while there are such prefixes to evict. The tag keeps the
/// age at the last use (upper half) and the hits at that time plus one (lower half): 0: the node was never ranked.
class LfuDa final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "the node with the fewest hits is evicted first, where later hits are worth more; among equals, the least "
      "recently used";
  PolicyText describe() const override { return {kRule, "worth {major}, used {minor:ago}"}; }
  Rank rank(const NodeFacts& node) override {
    const std::uint64_t seen = std::uint64_t{node.hits} + 1;
    if (static_cast<std::uint32_t>(*node.tag) != static_cast<std::uint32_t>(seen)) *node.tag = age_ << 32 | seen;
    return {worth(node), node.last_access};
  }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    if (is_for_room(eviction.cause)) age_ = std::max(age_, worth(node));
  }

 private:
  static std::uint64_t worth(const NodeFacts& node) { return (*node.tag >> 32) + node.hits + 1; }

  std::uint64_t age_ = 0;
};

}  // namespace canopy::eviction
