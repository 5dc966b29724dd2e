#pragma once

#include <canopy/c/policy.h>
#include <canopy/eviction_strategy.h>

#include <memory>
#include <string>
#include <string_view>

#include "result.h"

namespace canopy::c {

/// Copies of a policy's functions and texts, which the registry and all uses of the policy share.
struct PolicyTable {
  canopy_policy functions{};
  std::string name, summary, rule, rank_text;
};

/// Copies a table of the caller. Returns null and sets `code` if it is not valid.
std::shared_ptr<const PolicyTable> read_policy(const char* function, const canopy_policy* given, canopy_code& code);

/// One use of a policy whose functions are C.
class CPolicy final : public EvictionStrategy {
  static_assert(std::string_view(kInterface) == "canopy.EvictionStrategy/4.0", "pass on the new functions too");

 public:
  /// Returns a use of the policy; null if it cannot be created.
  static std::shared_ptr<EvictionStrategy> create(std::shared_ptr<const PolicyTable> table);
  CPolicy(std::shared_ptr<const PolicyTable> table, void* self) : table_(std::move(table)), self_(self) {}
  ~CPolicy() override;
  CPolicy(const CPolicy&) = delete;

  Rank rank(const NodeFacts& node) override;
  void rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) override;
  Volatility volatility() const override { return of().drifts ? Volatility::epoch : Volatility::none; }
  PolicyText describe() const override { return {table_->rule.c_str(), table_->rank_text.c_str()}; }
  bool spare(const NodeFacts& node) override;
  void evicted(const NodeFacts& node, const Eviction& eviction) override;
  void cleared() override {
    if (of().cleared) of().cleared(self_);
  }
  Prints reads_prints() const override { return static_cast<Prints>(of().prints); }
  void arrived(const RequestFacts& request) override;
  void ended(const RequestFacts& request, Path& path) override;

 private:
  const canopy_policy& of() const { return table_->functions; }

  std::shared_ptr<const PolicyTable> table_;
  void* self_;
};

}  // namespace canopy::c
