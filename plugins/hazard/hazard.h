#pragma once

#include <canopy/plugin.h>

#include <unordered_map>
#include <vector>

#include "duel.h"
#include "prefix_history.h"

namespace canopy::hazard {

/// Evicts the node with the fewest expected hits for the room that it occupies. Each use of a prefix starts an interval
/// (a "life") that ends with its next use. Intervals are counted by class, namespace, age and whether the prefix was
/// used again. From the counts follows an index for each class and age: expected hits per token and turnover
/// (ReuseTree). The index is the rank. Without data it behaves like lru, and also while lru has more hits (Duel).
///
/// It needs no sessions, no training and no wall clock: it learns from prints of prefixes, which outlive their nodes,
/// and measures time in inserted tokens.
class Hazard final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "the node with the fewest expected hits for its room is evicted first, as learned from the reuse of similar "
      "prefixes; among equals, the least recently used";

  struct Config {
    double cost_weight = 0, first_turns = 1;
    std::uint64_t history = 65536;
    void visit(Options& options) {
      options.real("cost_weight", cost_weight, 0, 64,
                   "additional worth of a hit for each 8,192 tokens before it, since it saves more work");
      options.real("first_turns", first_turns, 0, 64,
                   "worth of a hit in the second turn of a conversation, compared with one in a later turn");
      options.number("history", history, 1024, std::uint64_t{1} << 24,
                     "least number of strides of 512 tokens that are remembered, resident or not");
    }
  };
  explicit Hazard(const Config& config) : config_(config) {}

  Rank rank(const NodeFacts& node) override;
  void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) override;
  Volatility volatility() const override { return Volatility::epoch; }
  PolicyText describe() const override;
  Prints reads_prints() const override { return Prints::requests; }
  void arrived(const RequestFacts& request) override;
  void ended(const RequestFacts& request, Path& path) override;
  void cleared() override { arrived_.clear(), duel_.clear(); }

 private:
  void learn(const PolicyClock& clock);
  double worth_at(double depth, bool first_turn) const;
  std::size_t look_up(std::span<const std::uint64_t> prints);

  Config config_;
  WorkClock clock_;
  ReuseTree tree_;
  Lives lives_{tree_};
  Duel duel_{lives_, tree_};
  PrefixHistory history_;
  std::unordered_map<std::uint64_t, Tick> arrived_;  ///< last arrivals of requests that have not ended, by id
  std::vector<PrefixHistory::Entry*> strides_;       ///< strides of the ending request's prompt
  bool lru_ranks_ = false;                           ///< true if lru ruled when all nodes were last ranked
  bool reports_ends_ = false;                        ///< true if a client has reported an end of a session
  double fitted_ = 0;                                ///< time of the last fit
  double counted_for_ = 0;                           ///< ages counted before the last fit; they fade as counts do
};

}  // namespace canopy::hazard
