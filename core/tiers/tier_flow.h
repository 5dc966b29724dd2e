#pragma once

#include <memory>

#include <cache/drain/drainer.h>
#include <cache/request/request_flow.h>
#include "cost_model.h"
#include "fetch_flow.h"
#include "host_tier.h"
#include "ranks.h"
#include "storage_tier.h"

namespace canopy {

/// The tiers of an engine and their order in a turn. Without a host tier it does nothing, except for the exchange with
/// the other ranks.
class TierFlow {
 public:
  /// REQUIRES: the arguments outlive this object.
  TierFlow(RequestFlow& requests, PageFlow& pages, Drainer& drainer, const RecomputeConfig& recompute)
      : requests_(requests), pages_(pages), drainer_(drainer), costs_(recompute) {}

  /// Adds the host tier. `storage` may be null (none).
  void open(std::unique_ptr<HostTier> host, std::unique_ptr<StorageTier> storage, const PrefetchConfig& prefetch);
  /// Makes each turn one exchange with the other ranks. Returns false if the system has no memory for the pages of the
  /// host tier: a rank that lacked memory later would differ from the others.
  bool agree_by(Agreement& agreement);

  /// Advances the tiers as Engine::turn. Returns the time of the turn: that on which all ranks agree.
  std::uint64_t turn(std::uint64_t now_us);
  /// Gives new namespaces the same numbers in the host tier.
  void intern(const Spaces& spaces) {
    if (!host_) return;
    for (Spaces& below = host_->state().spaces; below.size() < spaces.size();)
      below.intern(spaces.tuple_of(static_cast<NamespaceId>(below.size())));
    if (storage_) storage_->intern(spaces.size());
  }
  /// The tenants of the host tier. May be null (no tier).
  Tenants* tenants() { return host_ ? host_->state().tenants.get() : nullptr; }
  std::shared_ptr<FetchState> fetch(const RequestSpec& spec) { return fetches_ ? fetches_->fetch(spec) : nullptr; }
  /// Counts that a request has begun on its fetch and found `matched` units. Without a fetch, makes the request's
  /// prefix recent in the host tier.
  void begun(const RequestSpec& spec, const Fetch& fetch, Units matched) noexcept;

  HostTier* host() { return host_.get(); }                     ///< may be null (no tier)
  StorageTier* storage() { return storage_.get(); }            ///< may be null (no storage)
  const FetchFlow* fetches() const { return fetches_.get(); }  ///< may be null (no tier)
  const CostModel& costs() const { return costs_; }
  CacheState& state() { return pages_.state(); }
  void audit();
  /// Returns the engine's digest: that of the pools, and of the tiers if there are any.
  std::uint64_t digest();

 private:
  const TurnBoard* agree(std::uint64_t& now_us);

  RequestFlow& requests_;
  PageFlow& pages_;
  Drainer& drainer_;
  CostModel costs_;
  std::unique_ptr<HostTier> host_;
  std::unique_ptr<StorageTier> storage_;  ///< it reads and fills the memory of the host tier
  std::unique_ptr<FetchFlow> fetches_;
  std::unique_ptr<TurnBoard> board_;  ///< may be null (a single rank)
};

}  // namespace canopy
