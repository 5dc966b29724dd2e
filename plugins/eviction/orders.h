#pragma once

#include <canopy/plugin.h>

#include <cstdint>

namespace canopy::eviction {

/// The orders that are one expression of a node's facts, named and defined as in SGLang.

/// Evicts the least recently used node first.
struct Lru final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, node.last_access}; }
};

/// Evicts the most recently used node first: for scans longer than the cache.
struct Mru final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, ~node.last_access}; }
};

/// Evicts the oldest node first, used since or not.
struct Fifo final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, node.created}; }
};

/// Evicts the youngest node first.
struct Filo final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, ~node.created}; }
};

/// Evicts the least frequently used node first. Counts never fade; in LfuDa they do.
struct Lfu final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {node.hits, node.last_access}; }
};

/// Evicts the lowest priority of its requests first, and among equals the least recently used.
struct Priority final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override {
    constexpr std::int64_t kLowest = INT32_MIN;
    return {static_cast<std::uint64_t>(node.priority - kLowest), node.last_access};
  }
};

/// Evicts prefixes that were hit too rarely before any that were hit often enough; among equals the least recently
/// used.
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
