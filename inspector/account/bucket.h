#pragma once

#include <mirror/mirror_pool.h>

#include <array>
#include <cstdint>
#include <vector>

#include "counts.h"
#include "histogram.h"
#include "top_prefixes.h"

namespace canopy::inspector {

/// Consecutive commits, from `first` to `last`, both included. `last` 0: no range.
struct CommitRange {
  std::uint64_t first = 0, last = 0;
  bool empty() const { return last == 0 || last < first; }
  bool has(std::uint64_t commit) const { return commit >= first && commit <= last; }
  std::uint64_t commits() const { return empty() ? 0 : last - first + 1; }
  friend bool operator==(const CommitRange&, const CommitRange&) = default;
};

/// Counts of a tenant; `row` is a row of History::tenants().
struct TenantCounts {
  std::uint32_t row = 0;
  Counts counts;
  std::uint64_t locked_us = 0;  ///< see counts.h
};

/// Missed tokens of a tenant for one reason.
struct TenantMissed {
  std::uint32_t row = 0, reason = 0;
  std::uint64_t tokens = 0;
};

/// Tokens that left one tenant for another. Numbers of Mirror::tenants() or, if no tenant has a share, rows of
/// History::tenants().
struct PaidTokens {
  std::uint32_t from = 0, taker = 0;
  std::uint64_t tokens = 0;
};

/// Counts of some consecutive commits, and the state after the last of them.
struct Bucket {
  CommitRange commits;
  std::uint64_t first_us = 0, last_us = 0;
  /// Longest time without an operation that ends in it. It may begin before it: with the operation before.
  struct Idle {
    std::uint64_t from_us = 0, until_us = 0;
    std::uint64_t us() const { return until_us > from_us ? until_us - from_us : 0; }
  } idle;
  Counts counts;
  std::array<std::uint64_t, kReasons> missed{};          ///< tokens
  std::array<std::uint64_t, kEvictionCauses> evicted{};  ///< tokens, by EvictionCause
  TrafficCounts traffic{};
  KeptCounts kept{};
  std::uint32_t running = 0;                 ///< requests, at the end
  std::vector<TenantCounts> tenants;         ///< only those with a count, by row
  std::vector<TenantMissed> tenants_missed;  ///< only those with a count, by row and reason
  static constexpr std::size_t kMostPaid = 64;
  std::vector<PaidTokens> paid;  ///< in no particular order, at most kMostPaid pairs
  std::uint64_t other_paid = 0;  ///< tokens of all other pairs
  struct Pool {
    MirrorPool::Sums pages;
    std::uint64_t limit = 0;  ///< pages; may be kUnlimited
  };
  std::vector<Pool> pools;          ///< by group, at the end
  std::vector<std::uint64_t> held;  ///< tokens in the tree at the end, by tenant's row; shorter: the rest have none
  TopPrefixes hits, waste, regret;
  Histograms histograms;

  Histogram& histogram(Measure of) { return histograms[static_cast<std::size_t>(of)]; }

  TenantCounts& tenant(std::uint32_t row);
  Counts& of(std::uint32_t row) { return tenant(row).counts; }
  /// Returns a tenant's missed tokens for a reason.
  std::uint64_t& missed_of(std::uint32_t row, std::uint32_t reason);
  void pay(const PaidTokens& more);
  /// Adds the bucket that follows.
  void add(const Bucket& next);
};

}  // namespace canopy::inspector
