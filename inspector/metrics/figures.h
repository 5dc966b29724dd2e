#pragma once

#include <account/totals.h>
#include <canopy/base/doubts.h>
#include <canopy/feed/engine_events.h>
#include <canopy/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace canopy::metrics {

/// Totals since the exporter began, over all lives of the feed.
struct Counts : inspector::Totals {
  std::uint64_t attached = 0, laps = 0;
  std::uint64_t inserted_tokens = 0;
  std::map<std::string, std::uint64_t> missed_tokens;  ///< by MissInfo::label
  std::uint64_t last_commit = 0;                       ///< its evictions may have no cause yet (counts.h)
  std::uint64_t pool_hit_tokens = 0;                   ///< hits that no fetch had brought; never falls
};

/// A namespace, or all namespaces without a row of their own.
struct TenantFigures {
  std::string label;
  std::uint64_t requests = 0, tries = 0, prompt_tokens = 0, hit_tokens = 0;  ///< since the exporter began
  std::optional<std::uint64_t> resident_tokens;                              ///< absent if unknown now
};

/// A tenant with a share of the pools, or all tenants without a row of their own. Tokens of the first group.
struct ShareFigures {
  std::string label;
  std::optional<std::uint64_t> cached{}, floor{};  ///< absent if unknown now
  std::optional<std::uint64_t> ceiling{};          ///< absent if it has none, or for all others
  std::optional<double> weight{};                  ///< absent for all others
  /// Since the engine began, with those of the engines before it that the exporter saw.
  std::uint64_t evicted = 0, paid = 0, taken = 0, below_floor = 0;
};

struct PoolFigures {
  std::string group, policy;
  Units reach = kWholePath;
  std::uint64_t free = 0, evictable = 0, protected_ = 0, owned = 0;  ///< tokens
  std::optional<std::uint64_t> limit;                                ///< tokens; absent if unlimited
  std::uint64_t waiting = 0;                                         ///< nodes that can be evicted next

  std::uint64_t total() const { return free + evictable + protected_ + owned; }
  std::uint64_t used() const { return protected_ + owned; }
};

/// The present state of the cache.
struct Moment {
  Units page_size = 1;
  std::uint64_t process = 0;
  std::uint64_t nodes = 0, namespaces = 0, depth = 0;  ///< depth in tokens
  std::uint64_t running = 0, pinned = 0, drift = 0, damaged = 0;
  Doubts doubts;
  bool paused = false;
  std::vector<PoolFigures> pools;
  bool host = false;                            ///< true if there is a host tier
  std::optional<event::StorageHealth> storage;  ///< absent if there is no storage
};

/// The content of a scrape. Unknown figures are absent, never 0.
struct Figures {
  std::string feed;
  /// True if the feed is made from the KV events of other servers. These do not report requests, locks, uses or pool
  /// sizes, so figures counted from them are unknown, whatever their value here.
  bool from_events = false;
  /// True if the index reports no nodes: figures counted from nodes are unknown too.
  bool no_nodes = false;
  bool attached = false;               ///< true if the feed exists and its writer is alive
  std::optional<Moment> now;           ///< absent before the first keyframe and after the end of the feed
  std::optional<double> hit_rate;      ///< rate over the latest requests (RecentHits); absent if unknown now
  std::optional<Counts> counts;        ///< absent before the first keyframe
  bool host = false, storage = false;  ///< true if the feed has had such a tier
  /// Totals since the exporter began, over all lives of the feed; present gauges, if known.
  CounterValues tiers;
  std::vector<TenantFigures> tenants;
  std::vector<ShareFigures> shares;  ///< empty if no tenant has had a share
};

/// Label of all namespaces, or tenants, without a row of their own.
inline constexpr const char* kOthers = "(other)";

}  // namespace canopy::metrics
