#pragma once

#include <canopy/engine/fetch.h>
#include <canopy/engine/request_spec.h>

#include <deque>
#include <memory>

#include "request/request_flow.h"
#include "tiers/host_tier.h"

namespace canopy {

class FetchFlow;

/// A fetch, as its handles and the flow see it.
struct FetchState {
  FetchFlow* flow = nullptr;        ///< null: it holds nothing any more
  RequestState* request = nullptr;  ///< computes nothing: its pages are filled from below
  Lock source{};                    ///< on the prefix below, until the copy has ended
  Units from = 0, until = 0;        ///< units that it brings
  std::uint64_t ends_us = 0, bytes = 0;
  std::array<std::uint64_t, kMaxGroups> tickets{};
  std::uint32_t handles = 0;
  bool done = false;      ///< the copy has ended
  bool credited = false;  ///< a request has begun on it
};

/// Brings prefixes from the tier below into the pools.
class FetchFlow {
 public:
  FetchFlow(RequestFlow& requests, PageFlow& pages, HostTier& tier)
      : requests_(requests), pages_(pages), device_(pages.state()), tier_(tier) {}
  ~FetchFlow();
  FetchFlow(const FetchFlow&) = delete;

  /// Looks a request's prefix up below, which makes it recent there, and begins to bring what the pools lack of it.
  /// Null: nothing comes.
  std::shared_ptr<FetchState> fetch(const RequestSpec& spec);
  /// A request begins that waited for no fetch: its prefix becomes recent below all the same.
  void touch(const RequestSpec& spec);
  /// A request has begun that waited for the fetch: `matched` units were there.
  void credit(FetchState& fetch, Units matched);
  /// Fetches whose copies have ended by the tier's time are committed.
  void turn();
  /// When the next one ends; kUnlimited: none is on its way.
  std::uint64_t next_us() const { return on_way_.empty() ? kUnlimited : on_way_.front()->ends_us; }
  /// The last handle is gone.
  void let_go(FetchState& fetch);
  EngineState& state() { return device_; }

 private:
  Lock look_up(const Key& key, RequestFacts& facts);
  std::shared_ptr<FetchState> on_way(const RequestSpec& spec, Units units) const;
  std::shared_ptr<FetchState> begin(const RequestSpec& spec, const Lock& found);
  void arrive(FetchState& fetch);
  void end(FetchState& fetch);

  RequestFlow& requests_;
  PageFlow& pages_;
  EngineState& device_;
  HostTier& tier_;
  std::deque<std::shared_ptr<FetchState>> on_way_;  ///< in the order in which they began and end
  std::vector<FetchState*> arrived_;                ///< hold their prefix for a handle
  std::array<std::vector<Page>, kMaxGroups> from_, to_;
};

}  // namespace canopy
