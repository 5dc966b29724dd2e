#pragma once

#include <canopy/eviction_strategy.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace canopy::queues {

/// The queue of each node, one of two, and the tokens of each queue. The index keeps the order; the policy chooses the
/// queue that gives the next victim, and its choice flips as the queues fill.
///
/// A node's word: its queue (upper 2 bits; 0: none so far), and a number of the policy's own (lower 32 bits).
class TwoQueues {
 public:
  enum Queue : std::uint32_t { none, first, second };

  static Queue of(const NodeFacts& node) { return static_cast<Queue>(*node.tag >> kQueueShift); }
  static std::uint32_t number(const NodeFacts& node) { return static_cast<std::uint32_t>(*node.tag); }
  static void set_number(const NodeFacts& node, std::uint32_t number) {
    *node.tag = (*node.tag >> kQueueShift << kQueueShift) | number;
  }

  std::uint64_t tokens(Queue queue) const { return tokens_[queue]; }
  /// Moves the node to a queue, or out of both.
  void move(const NodeFacts& node, Queue queue) {
    std::uint64_t& before = tokens_[of(node)];
    before -= std::min<std::uint64_t>(before, node.length);
    tokens_[queue] += node.length;
    tokens_[none] = 0;
    *node.tag = std::uint64_t{queue} << kQueueShift | number(node);
  }
  /// Returns the queue that gives the next victims. `wanted` is the present choice. It is adopted once per 2 % of
  /// turnover, when the index ranks all nodes (Volatility::epoch); otherwise two nodes would be ranked by different
  /// choices.
  Queue giving(const PolicyClock& clock, Queue wanted) {
    if (giving_ == none || clock.allocated < decided_ || (clock.allocated - decided_) * 50 >= clock.capacity)
      giving_ = wanted, decided_ = clock.allocated;
    return giving_;
  }
  void clear() { tokens_ = {}; }

 private:
  static constexpr int kQueueShift = 62;
  std::array<std::uint64_t, 4> tokens_{};
  Queue giving_ = none;
  std::uint64_t decided_ = 0;
};

}  // namespace canopy::queues
