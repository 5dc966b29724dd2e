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

/// Evicts what is expected to bring the fewest hits for the room that it occupies. Every use of a prefix begins a life.
/// Lives are counted in classes: whether they were used again, and at which age. From the counts follows for each class
/// and age what a token can still bring (Curves), and that is the rank. No data: lru. Where its order brings no more
/// than lru's, it keeps nearer to lru's (Caution).
///
/// What it learns from needs no session, no training and no second: prints of prefixes, which outlive their nodes, and
/// a clock that goes by inserted tokens.
class Hazard final : public EvictionStrategy {
 public:
  static constexpr const char* kRule =
      "what is expected to bring the fewest hits for its room is evicted first, as learned from how prefixes like it "
      "came back; among equals, what was used longest ago";

  struct Config {
    double cost_weight = 0;
    std::uint64_t history = 65536;
    std::string load, save;  ///< paths
    void visit(Options& options) {
      options.real("cost_weight", cost_weight, 0, 64,
                   "counts a hit by what it saves to compute: so much more for each 8,192 tokens before it");
      options.number("history", history, 1024, std::uint64_t{1} << 24,
                     "strides of 512 tokens that are remembered at least, resident or not");
      options.text("load", load, kLongestPath, "begins with the counts in this file, which `save` wrote");
      options.text("save", save, kLongestPath,
                   "writes its counts to this file when it ends; a missing file that `load` names too is no error");
    }
  };
  /// Throws a sentence if a file cannot be used.
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
  /// A request between its arrival and its end. One that was retracted stays, for it comes back.
  struct Running {
    std::uint64_t id = 0;
    Tick arrived = 0;  ///< the last time
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
  std::vector<Running> running_;                ///< by id
  std::vector<PrefixHistory::Entry*> strides_;  ///< of the prompt of the request that ends
  bool counted_ = false;                        ///< anything since it was made
  double fitted_ = 0;                           ///< when
  double counted_for_ = 0;                      ///< ages before the last fit, which fade as counts do
  LruTwin lru_;
  Caution caution_;
  bool ends_told_ = false;  ///< of sessions, by a client
  bool loaded_ = false;     ///< counts, from a file
};

}  // namespace canopy::hazard
