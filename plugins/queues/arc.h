#pragma once

#include <canopy/plugin.h>

#include <algorithm>

#include "ghosts.h"
#include "two_queues.h"

namespace canopy::queues {

/// Adaptive replacement cache (Megiddo and Modha, FAST 2003), for a tree: nodes that were used once and nodes that were
/// used again are two lru queues. A prefix that comes back after its eviction shows which of them was too small, and
/// moves the target of the first by its tokens. Sizes are in tokens; ghosts are strides of 512 tokens; only leaves are
/// evicted.
class Arc final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "of the nodes used once and the nodes used again, those beyond their target are evicted first; among these, the "
      "least recently used";
  PolicyText describe() const override { return {kRule, "{major:beyond its target|within}, used {minor:ago}"}; }
  Volatility volatility() const override { return Volatility::epoch; }
  Prints reads_prints() const override { return Prints::all; }

  Rank rank(const NodeFacts& node) override {
    const Queue wanted = queues_.tokens(TwoQueues::first) > target_ ? TwoQueues::first : TwoQueues::second;
    const Queue giving = queues_.giving(node.clock, wanted);
    if (TwoQueues::of(node) == TwoQueues::none) queues_.move(node, TwoQueues::first);
    return {TwoQueues::of(node) != giving, node.last_access};
  }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    const Queue from = TwoQueues::of(node);
    queues_.move(node, TwoQueues::none);
    const std::uint64_t capacity = node.clock.capacity;
    if (from == TwoQueues::none || capacity == kUnlimited) return;
    (from == TwoQueues::first ? once_ : again_).add(node, eviction);
    // As in the paper: one queue and its ghosts together are as large as the cache, both queues and all ghosts twice as
    // large.
    const std::uint64_t used = queues_.tokens(TwoQueues::first) + queues_.tokens(TwoQueues::second);
    once_.trim(capacity - std::min(capacity, queues_.tokens(TwoQueues::first)));
    again_.trim(2 * capacity - std::min(2 * capacity, used + once_.tokens()));
  }
  void ended(const RequestFacts& request, Path& path) override {
    for (NodeFacts node; path.next(node);) {
      if (TwoQueues::of(node) != TwoQueues::none) {
        if (node.hits > 0) queues_.move(node, TwoQueues::second);
        continue;
      }
      queues_.move(node, returned(node, request) ? TwoQueues::second : TwoQueues::first);
    }
  }
  void cleared() override { queues_.clear(), once_.clear(), again_.clear(); }

 private:
  using Queue = TwoQueues::Queue;

  /// Returns true, and moves the target, if the new node's prefix was evicted not long ago.
  bool returned(const NodeFacts& node, const RequestFacts& request) {
    const auto strides = strides_in(node, request.prefix_prints);
    const auto once = static_cast<double>(once_.tokens()), again = static_cast<double>(again_.tokens());
    const std::size_t of_once = once_.take(strides), of_again = again_.take(strides);
    const auto step = [](std::size_t found, double other, double mine) {
      return static_cast<std::uint64_t>(static_cast<double>(found * kPrintStride) * std::max(1.0, other / mine));
    };
    if (of_once > 0) target_ = std::min(request.clock.capacity, target_ + step(of_once, again, once));
    if (of_again > 0) target_ -= std::min(target_, step(of_again, once, again));
    return of_once + of_again > 0;
  }

  TwoQueues queues_;
  Ghosts once_, again_;
  std::uint64_t target_ = 0;  ///< target of the first queue, in tokens
};

}  // namespace canopy::queues
