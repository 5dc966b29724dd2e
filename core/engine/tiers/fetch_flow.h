#pragma once

#include <canopy/engine/fetch.h>
#include <canopy/engine/request_spec.h>

#include <deque>
#include <memory>

#include "request/request_flow.h"
#include "tiers/host_tier.h"
#include "tiers/prefetch.h"
#include "tiers/storage_tier.h"

namespace canopy {

class FetchFlow;

/// A fetch, as its handles and the flow see it.
struct FetchState {
  FetchFlow* flow = nullptr;        ///< null: it holds nothing any more
  std::shared_ptr<Bring> bring;     ///< from the storage to the host tier, which comes first; null: there is none
  std::vector<Token> prompt;        ///< while it waits for that
  RequestSpec spec{};               ///< the same; of `prompt`
  RequestState* request = nullptr;  ///< computes nothing: its pages are filled from below
  Lock source{};                    ///< on the prefix below, until the copy has ended
  Units from = 0, until = 0;        ///< units that it brings
  std::uint64_t ends_us = 0, bytes = 0;
  std::array<std::uint64_t, kMaxGroups> tickets{};
  std::uint32_t handles = 0;
  std::uint64_t asked_us = 0;
  bool done = false;      ///< the copy has ended, or nothing comes
  bool begun = false;     ///< a request has begun on it, be it too early
  bool credited = false;  ///< a request has begun on it
};

/// Brings prefixes from the tiers below into the pools: from the storage to the host tier, and from there up.
class FetchFlow {
 public:
  /// `storage`: null if there is none. REQUIRES: `costs` outlives it.
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

  /// Looks a request's prefix up below, which makes it recent there, and begins to bring what the pools lack of it.
  /// Null: nothing comes.
  std::shared_ptr<FetchState> fetch(const RequestSpec& spec);
  /// A request begins that waited for no fetch: its prefix becomes recent below all the same.
  void touch(const RequestSpec& spec);
  /// A request has begun on the fetch, `took_us` after it asked or when that had ended: `matched` units were there.
  void credit(FetchState& fetch, Units matched, std::uint64_t took_us);
  /// Nothing is brought any more but what is on its way to the pools.
  void stop() { stopped_ = true; }
  /// Fetches whose copies have ended by the tier's time are committed.
  void turn();
  /// When the next one ends; kUnlimited: none is on its way.
  std::uint64_t next_us() const { return on_way_.empty() ? kUnlimited : on_way_.front()->ends_us; }
  /// When the next step of a fetch ends that is not done.
  std::uint64_t ends_us(const FetchState& fetch) const;
  /// When a request begins that asked for it at `asked_us` and can use `usable` units of its prompt, whatever has come
  /// by then. `again_us`: it is not asked again earlier than in so many microseconds.
  std::uint64_t begins_us(const FetchState& fetch, Units usable, std::uint64_t asked_us, std::uint64_t again_us) const;
  std::uint64_t now_us() const { return tier_.now_us(); }
  /// The last handle is gone.
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
  bool outwaited(const FetchState& fetch) const;
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
  std::vector<std::shared_ptr<FetchState>> waiting_;  ///< for the storage, in the order in which they were asked for
  std::deque<std::shared_ptr<FetchState>> on_way_;    ///< in the order in which they began and end
  std::vector<FetchState*> arrived_;                  ///< hold their prefix for a handle
  std::array<std::vector<Page>, kMaxGroups> from_, to_;
  bool stopped_ = false;
};

}  // namespace canopy
