#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history.h"

namespace canopy::inspector {

/// Figures of a tenant in a range.
struct TenantFigures {
  std::uint32_t row = 0;  ///< place in History::tenants()
  std::string name;
  Counts counts;
  std::uint64_t held = 0;       ///< tokens in the tree at the end of the range
  std::uint64_t locked_us = 0;  ///< within the range; see counts.h
};

/// Figures of a range of commits, or of the whole past.
struct RangeFigures {
  CommitRange commits;  ///< whole buckets (History::snapped)
  std::uint64_t first_us = 0, last_us = 0;
  Counts counts;
  std::array<std::uint64_t, kReasons> missed{};
  std::array<std::uint64_t, kEvictionCauses> evicted{};
  TrafficCounts traffic{};
  KeptCounts kept{};
  std::uint64_t held = 0;                         ///< tokens in the tree at the end of the range
  std::vector<PaidTokens> paid;                   ///< tokens that left tenants for other tenants, most first
  std::uint64_t other_paid = 0;                   ///< the same by pairs that were not counted apart
  std::vector<TenantFigures> tenants;             ///< those with a figure that is not 0, by row
  std::vector<PrefixFigure> hits, waste, regret;  ///< most tokens first
  Histograms histograms;                          ///< samples of all tenants

  Bound bound = Bound::none;       ///< the kind of `regretted` and evicted `missed` tokens
  Bound kept_bound = Bound::none;  ///< the kind of `kept` tokens of a pool without a limit
  bool has_requests = true;        ///< History::has_requests
  /// Returns true if a count is known.
  bool knows(Count count) const { return has_requests || !needs_requests(count); }

  std::uint64_t us() const { return last_us > first_us ? last_us - first_us : 0; }
};

/// An estimate of the hit rate under another condition.
struct WhatIf {
  std::string with, help;
  double hit_rate = 0;
  Bound bound = Bound::none;
};
/// Returns what larger pools and smaller pages would have brought, first what there was. `group`: name of the first
/// group, whose pool it is. Empty if there were no prompts.
std::vector<WhatIf> what_if(const RangeFigures& figures, std::uint32_t page_size, const std::string& group);

/// Sorts by tokens, most first.
void sort_paid(std::vector<PaidTokens>& paid);

/// Sums the buckets of a range; of the whole past if it is empty. `tenant`: a row of History::tenants(), to count only
/// that namespace: evictions by cause, traffic and what larger pools would have kept, which are not counted by
/// namespace, are then 0. What tenants paid is always that of all, and so are histograms. `all`: false leaves the lists
/// of prefixes and the histograms empty, which saves most of the time. O(buckets).
RangeFigures figures_of(const History& history, CommitRange range, std::optional<std::uint32_t> tenant = {},
                        bool all = true);

}  // namespace canopy::inspector
