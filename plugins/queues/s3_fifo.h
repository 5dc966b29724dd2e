#pragma once

#include <canopy/plugin.h>

#include <algorithm>

#include "ghosts.h"
#include "two_queues.h"

namespace canopy::queues {

/// S3-FIFO (Yang et al., SOSP 2023), for a tree: new nodes pass a small queue, first in, first out. Those that were hit
/// often enough in it, or that come back soon after their eviction, go to the main queue, where a hit is a second
/// chance. Sizes are in tokens; ghosts are strides of 512 tokens; only leaves are evicted.
class S3Fifo final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "new nodes with too few hits are evicted first while there are many of them; then the oldest node of the main "
      "queue that was not hit there";
  PolicyText describe() const override { return {kRule, "{major:next queue|other queue}, in it since {minor:ago}"}; }
  struct Config {
    std::uint64_t small_percent = 10, promote_after = 2;
    void visit(Options& options) {
      options.number("small_percent", small_percent, 1, 90, "size of the small queue, in percent of the capacity");
      options.number("promote_after", promote_after, 1, kMostHits,
                     "hits after which a node moves from the small to the main queue");
    }
  };
  explicit S3Fifo(const Config& config) : config_(config) {}
  Volatility volatility() const override { return Volatility::epoch; }
  Prints reads_prints() const override { return Prints::all; }

  Rank rank(const NodeFacts& node) override {
    const bool much = queues_.tokens(kSmall) >= node.clock.capacity / 100 * config_.small_percent;
    const TwoQueues::Queue giving = queues_.giving(node.clock, much ? kSmall : kMain);
    if (TwoQueues::of(node) == TwoQueues::none) queues_.move(node, kSmall);
    const TwoQueues::Queue in = TwoQueues::of(node);
    return {in != giving, in == kSmall ? node.created : std::max(node.created, node.spared)};
  }
  bool spare(const NodeFacts& node) override {
    const std::uint32_t hits = std::min(kMostHits, node.hits - std::min(node.hits, TwoQueues::number(node)));
    if (TwoQueues::of(node) != kMain) {
      if (hits < config_.promote_after) return false;
      queues_.move(node, kMain);
      TwoQueues::set_number(node, node.hits);
      return true;
    }
    if (hits > 0) TwoQueues::set_number(node, node.hits - (hits - 1));  // one of at most three is used up
    return hits > 0;
  }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    const TwoQueues::Queue from = TwoQueues::of(node);
    queues_.move(node, TwoQueues::none);
    if (node.clock.capacity == kUnlimited) return;  // ghosts are in proportion to the pool
    if (from == kSmall) ghosts_.add(node, eviction);
    ghosts_.trim(node.clock.capacity / 100 * (100 - config_.small_percent));
  }
  void ended(const RequestFacts& request, Path& path) override {
    for (NodeFacts node; path.next(node);)
      if (TwoQueues::of(node) == TwoQueues::none)
        queues_.move(node, ghosts_.take(strides_in(node, request.prefix_prints)) > 0 ? kMain : kSmall);
  }
  void cleared() override { queues_.clear(), ghosts_.clear(); }

 private:
  static constexpr TwoQueues::Queue kSmall = TwoQueues::first, kMain = TwoQueues::second;
  static constexpr std::uint32_t kMostHits = 3;

  Config config_;
  TwoQueues queues_;  ///< number of a node: hits that no longer count
  Ghosts ghosts_;
};

}  // namespace canopy::queues
