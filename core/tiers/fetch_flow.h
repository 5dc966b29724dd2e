#pragma once

#include <canopy/engine/fetch.h>
#include <canopy/engine/request_spec.h>

#include <deque>
#include <memory>

#include <engine/request/request_flow.h>
#include "host_tier.h"
#include "prefetch.h"
#include "storage_tier.h"

namespace canopy {

class FetchFlow;

/// A fetch, shared by its handles and FetchFlow.
struct FetchState {
  FetchFlow* flow = nullptr;        ///< null once it holds nothing
  std::shared_ptr<Bring> bring;     ///< first step, from the storage to the host tier; may be null (none)
  std::vector<Token> prompt;        ///< used while it waits for `bring`
  RequestSpec spec{};               ///< request parameters; `spec.prompt` points into `prompt`
  RequestState* request = nullptr;  ///< a request that computes nothing: its pages are filled from below
  Lock source{};                    ///< lock on the prefix below, until the copy has ended
  Units from = 0, until = 0;        ///< units that it brings
  std::uint64_t ends_us = 0, bytes = 0;
  std::array<std::uint64_t, kMaxGroups> tickets{};
  std::uint32_t handles = 0;
  std::uint64_t asked_us = 0;
  bool done = false;      ///< the copy has ended, or there is nothing to copy
  bool begun = false;     ///< a request started from this fetch, possibly before it completed
  bool credited = false;  ///< a request started from it after it completed
};

/// Brings prefixes from the tiers below into the pools: from the storage to the host tier, and then to the pools.
class FetchFlow {
 public:
  /// `storage` may be null (none). REQUIRES: `costs` outlives this object.
  FetchFlow(RequestFlow& requests, PageFlow& pages, HostTier& tier, StorageTier* storage,
            const PrefetchConfig& prefetch, const CostModel& costs)
      : requests_(requests),
        pages_(pages),
        device_(pages.state()),
        tier_(tier),
        storage_(storage),
        prefetch_(prefetch, costs) {}
  ~FetchFlow();
  FetchFlow(const FetchFlow&) = delete;

  /// Looks up a request's prefix below, which makes it recent there, and begins to bring what the pools lack. Returns
  /// null if there is nothing to bring.
  std::shared_ptr<FetchState> fetch(const RequestSpec& spec);
  /// Makes a request's prefix recent below, if the request begins without a fetch.
  void touch(const RequestSpec& spec);
  /// Counts that a request has begun on the fetch and found `matched` units. `took_us`: microseconds from its call to
  /// the end of the fetch, or until now if the fetch has not ended.
  void credit(FetchState& fetch, Units matched, std::uint64_t took_us);
  /// Stops all fetches except copies to the pools that are pending.
  void stop() { stopped_ = true; }
  /// Commits fetches whose copies have ended by the tier's time.
  void turn();
  /// Returns the time at which the next copy ends; kUnlimited if none is pending.
  std::uint64_t next_us() const { return on_way_.empty() ? kUnlimited : on_way_.front()->ends_us; }
  /// Returns the time at which the next step of an unfinished fetch ends.
  std::uint64_t ends_us(const FetchState& fetch) const;
  /// Returns the time at which a request should begin, even if the fetch is not complete. The request called at
  /// `asked_us` and can use `usable` units of its prompt. `again_us`: microseconds until its next call at the earliest.
  std::uint64_t begins_us(const FetchState& fetch, Units usable, std::uint64_t asked_us, std::uint64_t again_us) const;
  std::uint64_t now_us() const { return tier_.now_us(); }
  /// Ends a fetch whose last handle was destroyed.
  void let_go(FetchState& fetch);
  EngineState& state() { return device_; }

 private:
  Lock look_up(const Key& key, RequestFacts& facts);
  std::shared_ptr<FetchState> on_way(const RequestSpec& spec, Units units) const;
  std::shared_ptr<FetchState> waits_for_storage(const RequestSpec& spec) const;
  std::shared_ptr<FetchState> wait_for(std::shared_ptr<Bring> bring, const RequestSpec& spec, Units here);
  std::shared_ptr<FetchState> load(const RequestSpec& spec, Units here, NodeId node, Units there,
                                   std::shared_ptr<FetchState> asked);
  bool begin(FetchState& fetch, const RequestSpec& spec, NodeId node);
  bool worth(Units from, Units until) const;
  bool abandoned(const FetchState& fetch) const;
  std::uint64_t seen_us(std::uint64_t ends_us, std::uint64_t again_us) const;
  void go_on();
  void go_on(std::shared_ptr<FetchState> fetch);
  void arrive(FetchState& fetch);
  void end(FetchState& fetch);

  RequestFlow& requests_;
  PageFlow& pages_;
  EngineState& device_;
  HostTier& tier_;
  StorageTier* storage_;
  Prefetch prefetch_;
  std::vector<std::shared_ptr<FetchState>> waiting_;  ///< wait for the storage, in the order of their calls
  std::deque<std::shared_ptr<FetchState>> on_way_;    ///< copying, in the order in which they began and end
  std::vector<FetchState*> arrived_;                  ///< completed; they hold their prefix for a handle
  std::array<std::vector<Page>, kMaxGroups> from_, to_;
  bool stopped_ = false;
};

}  // namespace canopy
