#pragma once

#include <canopy/plugin.h>

#include <cstdint>

namespace canopy::eviction {

/// The orders that are one expression of a node's facts, named and defined as in SGLang.

/// What was used longest ago leaves first.
struct Lru final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, node.last_access}; }
};

/// What was used last leaves first: for scans longer than the cache.
struct Mru final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, ~node.last_access}; }
};

/// What was created first leaves first, whoever used it since.
struct Fifo final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, node.created}; }
};

/// What was created last leaves first.
struct Filo final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, ~node.created}; }
};

/// What was used least often leaves first. Counts never fade: see LfuDa for one where they do.
struct Lfu final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {node.hits, node.last_access}; }
};

/// What no important request inserted leaves first: the lowest priority, and among equals the least recent.
struct Priority final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override {
    constexpr std::int64_t kLowest = INT32_MIN;
    return {static_cast<std::uint64_t>(node.priority - kLowest), node.last_access};
  }
};

/// A prefix that was hit only once leaves before any that earned its place.
class Slru final : public EvictionStrategy {
 public:
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

}  // namespace canopy::eviction
