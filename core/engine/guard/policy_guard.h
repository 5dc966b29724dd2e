#pragma once

#include <canopy/eviction_strategy.h>

#include <memory>
#include <span>

#include "guard/guard.h"
#include "guard/hot_path.h"

namespace canopy {

/// A policy as the index sees it: never one that throws. After its first exception a policy is not called any more, and
/// nodes have the ranks of lru. The engine ranks the others anew before it evicts next (PageFlow::evict).
class PolicyGuard final : public EvictionStrategy, public Guard {
  static_assert(std::string_view(kInterface) == "canopy.EvictionStrategy/4", "hand on the new functions too");

 public:
  static constexpr const char* kInstead = "lru";

  /// `any_failed` is set when this policy fails. REQUIRES: it lives as long as the policy is called.
  PolicyGuard(std::shared_ptr<EvictionStrategy> policy, std::string component, Ledger& ledger, bool& any_failed)
      : Guard(std::move(component), ledger), policy_(std::move(policy)), any_failed_(any_failed) {}

  bool has_failed() const { return failed_; }

  Rank rank(const NodeFacts& node) override {
    if (failed_) [[unlikely]]
      return {0, node.last_access};
    const Rank rank = ask("rank", [&] { return policy_->rank(node); });
    return failed_ ? Rank{0, node.last_access} : rank;
  }
  void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) override {
    if (!failed_) ask("rank_many", [&] { policy_->rank_many(nodes, ranks); });
    if (!failed_) return;
    for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = {0, nodes[i].last_access};
  }
  Volatility volatility() const override {
    return failed_ ? Volatility::none : look("volatility", [&] { return policy_->volatility(); });
  }
  PolicyText describe() const override {
    const PolicyText text = failed_ ? PolicyText{} : ask("describe", [&] { return policy_->describe(); });
    return failed_ ? PolicyText{"what was used longest ago is evicted first", "used {minor:ago}"} : text;
  }
  bool spare(const NodeFacts& node) override {
    return !failed_ && ask("spare", [&] { return policy_->spare(node); });
  }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    if (!failed_) ask("evicted", [&] { policy_->evicted(node, eviction); });
  }
  void cleared() override {
    if (!failed_) ask("cleared", [&] { policy_->cleared(); });
  }
  Prints reads_prints() const override {
    return failed_ ? Prints::none : look("reads_prints", [&] { return policy_->reads_prints(); });
  }
  void arrived(const RequestFacts& request) override {
    if (!failed_) ask("arrived", [&] { policy_->arrived(request); });
  }
  void ended(const RequestFacts& request, Path& path) override {
    if (hot_) hot_->look(path, [&](Path& again) { tell_ended(request, again); });
    else tell_ended(request, path);
  }
  /// Looks at the paths of requests that end, from now on. REQUIRES: it lives as long as this.
  void watch(HotPath* hot) { hot_ = hot; }

 private:
  void failed() const override { failed_ = any_failed_ = true; }
  void tell_ended(const RequestFacts& request, Path& path) {
    if (!failed_) ask("ended", [&] { policy_->ended(request, path); });
  }

  std::shared_ptr<EvictionStrategy> policy_;
  mutable bool failed_ = false;
  bool& any_failed_;
  HotPath* hot_ = nullptr;
};

}  // namespace canopy
