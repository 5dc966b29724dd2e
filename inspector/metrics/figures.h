#pragma once

#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "histogram.h"
#include "storage_figures.h"

namespace canopy::metrics {

/// What was counted of the pages of a group that left the tree.
struct LeavingCounts {
  std::uint64_t evicted_tokens = 0, flushed_tokens = 0;
  // Of evicted pages whose times are known, one value for each page:
  Histogram lifetime_s{kSecondBounds};  ///< since they were inserted
  Histogram idle_s{kSecondBounds};      ///< since they were used last
  Histogram idle_work{kWorkBounds};     ///< the same, in tokens of prompts that came meanwhile
};

/// Everything that only grows, since the exporter began: over all lives of the feed.
struct Counts {
  std::uint64_t attached = 0, laps = 0, operations = 0;
  std::uint64_t finished = 0, aborted = 0, retracted = 0;  ///< requests; retracted: times
  std::uint64_t inserted_tokens = 0;
  std::map<std::string, std::uint64_t> missed_tokens;  ///< by reason
  std::map<std::string, LeavingCounts> leaving;        ///< by group
  // Of pages of the first group that a match used again, one value for each page:
  Histogram reuse_gap_s{kSecondBounds};
  Histogram reuse_distance{kWorkBounds};  ///< tokens of prompts that came meanwhile
  // Of requests that finished and whose begin was seen:
  Histogram prompt_tokens{kPromptBounds}, computed_tokens{kPromptBounds};
};

/// A namespace, or all that had no room of their own.
struct TenantFigures {
  std::string label;
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;  ///< since the exporter began
  std::optional<std::uint64_t> resident_tokens;                   ///< nothing: not known now
};

struct PoolFigures {
  std::string group, policy;
  Units reach = kWholePath;
  std::uint64_t free = 0, evictable = 0, protected_ = 0, owned = 0;  ///< tokens
  std::optional<std::uint64_t> limit;                                ///< tokens; nothing: unlimited
  std::uint64_t waiting = 0;                                         ///< nodes that can be evicted next

  std::uint64_t total() const { return free + evictable + protected_ + owned; }
  std::uint64_t used() const { return protected_ + owned; }
};

/// The tier below the pools as it is now.
struct TierNow {
  struct Group {
    std::string name;
    std::uint64_t resident = 0, moving = 0, limit = 0;  ///< tokens
  };
  std::vector<Group> groups;
  std::uint64_t storing = 0, storing_bytes = 0;  ///< copies to the tier that have begun and not ended
  std::uint64_t loading = 0, loading_bytes = 0;  ///< from it
};

/// What moved between the pools and the tier below, since the exporter began, over all lives of the feed.
struct TierCounts {
  std::uint64_t written = 0, loaded = 0, hits = 0, dropped = 0, lost = 0, evicted = 0;  ///< tokens of the first group
  std::uint64_t written_bytes = 0, loaded_bytes = 0;
  std::uint64_t fetch_us = 0, saved_us = 0;  ///< event::TierEnds
  std::array<std::uint64_t, std::tuple_size_v<decltype(event::TierFetches::by_outcome)>> fetches{};
  std::array<std::uint64_t, event::TierEnds::kEnds> ends{};
};

/// The cache as it is now.
struct Moment {
  Units page_size = 1;
  std::uint64_t process = 0;
  std::uint64_t nodes = 0, namespaces = 0, depth = 0;  ///< depth: tokens
  std::uint64_t running = 0, pinned = 0, drift = 0, damaged = 0;
  bool paused = false;
  std::vector<PoolFigures> pools;
  std::optional<TierNow> tier;        ///< nothing: there is none
  std::optional<StorageNow> storage;  ///< nothing: there is none
};

/// What a scrape shows. What is not known is nothing, never 0.
struct Figures {
  std::string feed;
  /// The feed is made from the KV events of other servers. They do not tell requests, locks, uses, or the size of a
  /// pool: all that is counted of these is not known, whatever its value here.
  bool from_events = false;
  /// The index tells of no node: what is counted of nodes is not known either.
  bool no_nodes = false;
  bool attached = false;                 ///< the feed is there and its writer lives
  std::optional<Moment> now;             ///< nothing: no keyframe has come, or the feed has ended
  std::optional<double> hit_rate;        ///< of the last kHitRateRequests requests; nothing: none came
  std::optional<Counts> counts;          ///< nothing: no keyframe has ever come
  std::optional<TierCounts> tier;        ///< nothing: no tier below was ever told of
  std::optional<StorageCounts> storage;  ///< nothing: no storage was ever told of
  std::vector<TenantFigures> tenants;
};

inline constexpr std::size_t kHitRateRequests = 128;

}  // namespace canopy::metrics
