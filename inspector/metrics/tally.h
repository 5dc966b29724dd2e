#pragma once

#include <account/history.h>
#include <mirror/mirror.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "figures.h"
#include "shares.h"

namespace canopy::metrics {

/// Keeps the figures of a feed up to date with its events, so that a query's cost does not depend on the tree: a mirror
/// has the present state, and a history of sums counts. The feed may end and come back: counts continue, and the
/// present state starts again.
class Tally {
 public:
  /// `tenants`: the maximum number of namespaces with their own figures.
  Tally(std::string feed, std::size_t tenants);

  /// Starts with a feed that has this header.
  void attach(const FeedShape& header);
  void take(std::span<const Event> events);
  /// Records a loss of events: the present state is unknown until the next keyframe.
  void lost();
  /// Records the end of the feed.
  void detach();
  bool in_step() const { return mirror_ && mirror_->in_step(); }
  /// Returns the doubts of the feed that is attached; none while there is no feed.
  Doubts doubts() const;
  /// Returns all figures. O(tenants + groups); if tenants have shares, O(namespaces).
  Figures figures() const;

 private:
  Moment moment() const;
  Counts counts() const;
  std::vector<TenantFigures> tenants() const;
  CounterValues tiers() const;
  void count_pool_hits();

  std::string feed_;
  std::optional<inspector::Mirror> mirror_;
  std::uint64_t process_ = 0;
  std::uint64_t attached_ = 0, laps_ = 0;
  inspector::History sums_;
  Shares shares_;
  CounterValues tiers_;          ///< totals until the last loss or end of the feed
  std::uint64_t pool_hits_ = 0;  ///< Counts::pool_hit_tokens
  bool totalled_ = false;        ///< true if the commit that is being taken has the engine's totals so far
};

}  // namespace canopy::metrics
