#pragma once

#include <canopy/engine/fetch.h>
#include <canopy/engine/index_view.h>
#include <canopy/engine/pool_view.h>
#include <canopy/engine/request_spec.h>
#include <canopy/feed/counters.h>

#include <cstdint>

namespace canopy {

class TierFlow;

/// The tiers below an engine's pools: a host tier, and a storage below it (docs/tiers.md). What leaves the pools is
/// copied down, and fetch() brings it back. Engine::turn makes the results of copies and fetches visible.
///
/// An engine without tiers has this object too: fetch() returns an empty fetch, and nothing is ever pending.
///
/// Thread: as for Engine.
class Tiers {
 public:
  /// Returns true if a host tier is configured.
  bool has_host() const;
  /// Returns true if a storage is configured below the host tier.
  bool has_storage() const;
  /// Return the index of the host tier and the pool of one of its groups, for reading. REQUIRES: has_host(); the group
  /// exists.
  IndexView host_index() const;
  PoolView host_pool(std::size_t group) const;

  /// Looks up a waiting request's prefix in the tiers, and starts to bring what the pools lack. Begin the request when
  /// the fetch is done(), or earlier with what has arrived. Cheap enough to call for every waiting request: a prefix
  /// that is already being fetched is not fetched twice. Skips prefixes that are cheaper to recompute, if
  /// `tiers.recompute` is configured.
  Fetch fetch(const RequestSpec& spec);
  /// Returns the microseconds it takes to compute `tokens` prompt tokens that follow `depth` others, by
  /// `tiers.recompute`; 0 if that is not configured.
  std::uint64_t recompute_us(std::uint32_t tokens, std::uint32_t depth) const;
  /// Returns the time, on the clock of Engine::turn, at which the next copy, fetch or storage call ends; kUnlimited if
  /// none is pending. While in_real_time(), returns the latest time at which to call turn() again.
  std::uint64_t next_end_us() const;
  /// Returns true while storage calls run in real time. Call Engine::turn with real timestamps until they finish.
  bool in_real_time() const;
  /// Returns the counters of the host tier and the storage.
  CounterValues counters() const;

 private:
  friend class Engine;
  explicit Tiers(TierFlow& flow) : flow_(&flow) {}
  TierFlow* flow_;
};

}  // namespace canopy
