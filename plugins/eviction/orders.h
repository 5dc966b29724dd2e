#pragma once

#include <canopy/plugin.h>

#include <algorithm>
#include <cstdint>

namespace canopy::eviction {

/// Orders that are one expression of a node's facts, named and defined as in SGLang.

/// Evicts the least recently used node first.
struct Lru final : EvictionStrategy {
  static constexpr const char* kRule = "the least recently used node is evicted first";
  Rank rank(const NodeFacts& node) override { return {0, node.last_access}; }
  PolicyText describe() const override { return {kRule, "used {minor:ago}"}; }
};

/// Evicts the most recently used node first: for scans longer than the cache.
struct Mru final : EvictionStrategy {
  static constexpr const char* kRule = "the most recently used node is evicted first";
  Rank rank(const NodeFacts& node) override { return {0, ~node.last_access}; }
  PolicyText describe() const override { return {kRule, "used {minor:~ago}"}; }
};

/// Evicts the oldest node first, whether it was used since or not.
struct Fifo final : EvictionStrategy {
  static constexpr const char* kRule = "the oldest node is evicted first";
  Rank rank(const NodeFacts& node) override { return {0, node.created}; }
  PolicyText describe() const override { return {kRule, "created {minor:ago}"}; }
};

/// Evicts the youngest node first.
struct Filo final : EvictionStrategy {
  static constexpr const char* kRule = "the youngest node is evicted first";
  Rank rank(const NodeFacts& node) override { return {0, ~node.created}; }
  PolicyText describe() const override { return {kRule, "created {minor:~ago}"}; }
};

/// Evicts the least frequently used node first. Counts never fade; in LfuDa they do.
struct Lfu final : EvictionStrategy {
  static constexpr const char* kRule =
      "the node with the fewest hits is evicted first; among equals, the least recently used";
  Rank rank(const NodeFacts& node) override { return {node.hits, node.last_access}; }
  PolicyText describe() const override { return {kRule, "hits: {major}, used {minor:ago}"}; }
};

/// Evicts the lowest priority of its requests first, and among equals the least recently used.
struct Priority final : EvictionStrategy {
  static constexpr const char* kRule =
      "the node with the lowest priority is evicted first; among equals, the least recently used";
  PolicyText describe() const override { return {kRule, "priority {major:signed}, used {minor:ago}"}; }
  Rank rank(const NodeFacts& node) override {
    constexpr std::int64_t kLowest = INT32_MIN;
    return {static_cast<std::uint64_t>(node.priority - kLowest), node.last_access};
  }
};

/// Evicts prefixes that were hit too rarely before any that were hit often enough; among equals the least recently
/// used.
class Slru final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "nodes with too few hits to be protected are evicted first; among equals, the least recently used";
  PolicyText describe() const override { return {kRule, "{major:on probation|protected}, used {minor:ago}"}; }
  struct Config {
    std::uint64_t protect_after = 2;
    void visit(Options& options) {
      options.number("protect_after", protect_after, 1, 64, "hits that protect a prefix");
    }
  };
  explicit Slru(const Config& config) : protect_after_(config.protect_after) {}
  Rank rank(const NodeFacts& node) override { return {node.hits >= protect_after_, node.last_access}; }

 private:
  std::uint64_t protect_after_;
};

/// Tail-optimised LRU (arXiv 2510.15152), as in SGLang: for a path that was once `deepest` tokens long, nodes behind
/// deepest + next_prompt - threshold tokens cannot bring its next request below `threshold` tokens to compute, and are
/// evicted first; among equals the least recently used. The tag keeps the greatest depth of a request's path
/// here.
class Tlru final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "nodes that a request can compute within its budget are evicted first; among equals, the least recently used";
  PolicyText describe() const override { return {kRule, "{major:within budget|beyond budget}, used {minor:ago}"}; }
  struct Config {
    std::uint64_t threshold = 0, next_prompt = 0;
    void visit(Options& options) {
      options.number("threshold", threshold, 0, UINT32_MAX, "tokens that a request may have to compute");
      options.number("next_prompt", next_prompt, 0, UINT32_MAX, "tokens that the next prompt of a conversation adds");
    }
  };
  explicit Tlru(const Config& config) : config_(config) {}
  Rank rank(const NodeFacts& node) override {
    const std::uint64_t end = std::uint64_t{node.begin} + node.length, deepest = std::max(*node.tag, end);
    const std::uint64_t wanted = deepest + config_.next_prompt;
    const std::uint64_t budget = wanted > config_.threshold ? wanted - config_.threshold : 0;
    return {node.begin < budget, node.last_access};
  }
  void ended(const RequestFacts&, Path& path) override {
    std::uint64_t deepest = 0;
    for (NodeFacts node; path.next(node);) {
      deepest = std::max(deepest, std::uint64_t{node.begin} + node.length);
      *node.tag = std::max(*node.tag, deepest);
    }
  }

 private:
  Config config_;
};

}  // namespace canopy::eviction
