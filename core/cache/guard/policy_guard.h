#pragma once

#include <canopy/eviction_strategy.h>

#include <memory>
#include <span>

#include "port.h"

namespace canopy {

/// A policy for the index that never throws. After its first exception the policy is not called again, and nodes get
/// the ranks of lru. Before its next eviction the engine ranks all other nodes again (PageFlow::evict).
class PolicyGuard final : public EvictionStrategy, public Port<EvictionStrategy> {
 public:
  static constexpr const char* kInstead = "lru";

  /// Sets `any_failed` when this policy throws. REQUIRES: `any_failed` outlives all calls of the policy.
  PolicyGuard(std::shared_ptr<EvictionStrategy> policy, std::string name, Ledger& ledger, bool& any_failed)
      : Port(std::move(policy), std::move(name), ledger, &any_failed) {}

  /// Returns true at the first call after the policy threw.
  bool take_failure() { return has_thrown() && !std::exchange(failure_taken_, true); }

  Rank rank(const NodeFacts& node) override {
    const Rank rank = ask("rank", [&](EvictionStrategy& policy) { return policy.rank(node); });
    return has_thrown() ? Rank{0, node.last_access} : rank;
  }
  void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) override {
    ask("rank_many", &EvictionStrategy::rank_many, nodes, ranks);
    if (!has_thrown()) return;
    for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = {0, nodes[i].last_access};
  }
  Volatility volatility() const override {
    return has_thrown() ? Volatility::none : read("volatility", &EvictionStrategy::volatility);
  }
  PolicyText describe() const override {
    const PolicyText text = ask("describe", &EvictionStrategy::describe);
    return has_thrown() ? PolicyText{"the least recently used node is evicted first", "used {minor:ago}"} : text;
  }
  bool spare(const NodeFacts& node) override {
    return ask("spare", [&](EvictionStrategy& policy) { return policy.spare(node); });
  }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    ask("evicted", [&](EvictionStrategy& policy) { policy.evicted(node, eviction); });
  }
  void cleared() override { ask("cleared", &EvictionStrategy::cleared); }
  Prints reads_prints() const override { return ask("reads_prints", &EvictionStrategy::reads_prints); }
  void arrived(const RequestFacts& request) override { ask("arrived", &EvictionStrategy::arrived, request); }
  void ended(const RequestFacts& request, Path& path) override {
    ask("ended", &EvictionStrategy::ended, request, path);
  }

 private:
  bool failure_taken_ = false;

  template <class Function, class... Args>
  std::invoke_result_t<Function, EvictionStrategy&, Args...> ask(const char* name, Function function,
                                                                 Args&&... args) const noexcept {
    if (has_thrown()) [[unlikely]]
      return std::invoke_result_t<Function, EvictionStrategy&, Args...>();
    return call(name, function, std::forward<Args>(args)...);
  }
};

}  // namespace canopy
