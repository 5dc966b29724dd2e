#pragma once

#include <canopy/plugin.h>

#include <algorithm>

namespace canopy::queues {

/// SIEVE (Zhang et al., NSDI 2024), for a tree: a hand goes through the nodes from the oldest to the youngest, again
/// and again. It evicts a node that was not hit since the hand last passed; a node that was hit stays where it is, and
/// loses its mark. Only leaves are evicted, so a node that becomes a leaf behind the hand is met at once.
///
/// A node's word: the round in which the hand comes to it next (upper half), and its hits at the last time plus one.
class Sieve final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "a hand that moves from the oldest node to the youngest evicts the first that was not hit since it last passed";
  PolicyText describe() const override { return {kRule, "in the hand's round {major}, created {minor:ago}"}; }

  Rank rank(const NodeFacts& node) override {
    if (*node.tag == 0) set(node, round_);
    return {*node.tag >> 32, node.created};
  }
  bool spare(const NodeFacts& node) override {
    if (node.hits < static_cast<std::uint32_t>(*node.tag)) return false;
    round_ = std::max(round_, *node.tag >> 32);
    set(node, round_ + 1);
    return true;
  }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    if (is_for_room(eviction.cause)) round_ = std::max(round_, *node.tag >> 32);
  }

 private:
  static void set(const NodeFacts& node, std::uint64_t round) {
    *node.tag = round << 32 | (std::uint64_t{node.hits} + 1);
  }

  std::uint64_t round_ = 0;  ///< round of the hand
};

}  // namespace canopy::queues
