#pragma once

#include <canopy/plugin.h>

#include <string>
#include <vector>

#include "caution.h"
#include "curves.h"
#include "lives.h"
#include "lru_twin.h"
#include "prefix_history.h"
#include "rank_words.h"
#include "work_clock.h"

namespace canopy::hazard {

/// Evicts the node with the fewest expected hits for the room that it occupies. Each use of a prefix starts an interval
/// (a "life") that ends with its next use. Intervals are counted by class, age and whether the prefix was used again.
/// From the counts follows an index for each class and age: expected hits per token and turnover (Curves). The index is
/// the rank. Without data it behaves like lru, and as long as its order is not better than lru's it stays close to
/// lru's (Caution).
///
/// It needs no sessions, no training and no wall clock: it learns from prints of prefixes, which outlive their nodes,
/// and measures time in inserted tokens.
class Hazard final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "the node with the fewest expected hits for its room is evicted first, as learned from the reuse of similar "
      "prefixes; among equals, the least recently used";

  struct Config {
    double cost_weight = 0;
    std::uint64_t history = 65536;
    std::string load, save;  ///< paths
    void visit(Options& options) {
      options.real("cost_weight", cost_weight, 0, 64,
                   "how much more a hit is worth for each 8,192 tokens before it, because it saves more work");
      options.number("history", history, 1024, std::uint64_t{1} << 24,
                     "least number of strides of 512 tokens that are remembered, resident or not");
      options.text("load", load, kLongestPath, "file with the counts to begin with, as written by `save`");
      options.text(
          "save", save, kLongestPath,
          "file to which the counts are written at the end; it may be missing at the start even if `load` names it");
    }
  };
  /// Throws an error message if a file cannot be used.
  explicit Hazard(const Config& config);
  Hazard(const Hazard&) = delete;
  Hazard& operator=(const Hazard&) = delete;
  ~Hazard() override;

  Rank rank(const NodeFacts& node) override;
  void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) override;
  Volatility volatility() const override { return Volatility::epoch; }
  PolicyText describe() const override { return {kRule, rank_form().c_str()}; }
  Prints reads_prints() const override { return Prints::requests; }
  void arrived(const RequestFacts& request) override;
  void ended(const RequestFacts& request, Path& path) override;
  void evicted(const NodeFacts& node, const Eviction& eviction) override;
  void cleared() override { running_.clear(), lru_ = {}; }

 private:
  static constexpr std::size_t kLongestPath = 4096;
  /// A request between its arrival and its end. A retracted request stays here because it arrives again.
  struct Running {
    std::uint64_t id = 0;
    Tick arrived = 0;  ///< time of the last arrival
    LruTwin::Oldest lru{};
  };

  void learn(const PolicyClock& clock);
  void count();
  void fit(double capacity);
  void set_tag(const NodeFacts& node, std::size_t of_class);
  std::size_t look_up(std::span<const std::uint64_t> prints);
  void follow(Use use, std::size_t matched, const LruTwin::Oldest& lru);
  std::vector<Running>::iterator find(std::uint64_t id);

  Config config_;
  WorkClock clock_;
  ReuseCounts counts_;
  Curves curves_;
  Lives lives_;
  PrefixHistory history_;
  std::vector<Running> running_;                ///< sorted by id
  std::vector<PrefixHistory::Entry*> strides_;  ///< strides of the ending request's prompt
  bool counted_ = false;                        ///< true if anything was counted since construction
  double fitted_ = 0;                           ///< time of the last fit
  double counted_for_ = 0;                      ///< ages counted before the last fit; they fade as counts do
  LruTwin lru_;
  Caution caution_;
  bool ends_told_ = false;  ///< true if a client has reported an end of a session
  bool loaded_ = false;     ///< true if counts were loaded from a file
};

}  // namespace canopy::hazard
