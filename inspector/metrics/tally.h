#pragma once

#include <mirror/mirror.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "figures.h"
#include "shares.h"
#include "tenants.h"

namespace canopy::metrics {

/// Keeps the figures of a feed up to date with its events, so that a query's cost does not depend on the tree. The feed
/// may end and come back: counts continue, and the present state starts again.
class Tally final : inspector::MirrorWatcher {
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
  void begin_again(bool known) override;
  void added(const inspector::MirrorNode& node) override;
  void split(const inspector::MirrorNode& upper) override;
  void used(const inspector::MirrorNode& node) override;
  void left(const inspector::MirrorNode& node, std::size_t group, Operation operation) override;
  void removed(const inspector::MirrorNode& node) override;
  void begun(const inspector::MirrorRequest& request) override;
  void progressed(const inspector::MirrorRequest& request) override;

  Moment moment() const;
  CounterValues tiers() const;
  std::uint64_t pages(const inspector::MirrorNode& node) const { return node.length / mirror_->page_size(); }

  std::string feed_;
  std::optional<inspector::Mirror> mirror_;
  std::uint64_t process_ = 0;
  bool ever_in_step_ = false, from_events_ = false, no_nodes_ = false;
  Counts counts_;
  Tenants tenants_;
  Shares shares_;
  bool has_host_ = false, has_storage_ = false;  ///< true if the feed has had such a tier
  CounterValues tiers_;                          ///< totals until the last loss or end of the feed
  CounterValues tiers_at_step_;                  ///< values that the feed sent when the mirror came into step
  std::uint64_t tree_tokens_ = 0, commits_before_ = 0;
  std::map<Units, std::uint64_t> ends_;  ///< number of nodes that end at each depth
  /// Requests whose begin was seen and whose end was not.
  struct Live {
    std::uint32_t prompt = 0, matched = 0;
    bool judged = false;  ///< true if its verdict is counted
  };
  std::unordered_map<std::uint64_t, Live> live_;
  /// Prompt and matched tokens of the latest requests.
  std::array<std::pair<std::uint32_t, std::uint32_t>, kHitRateRequests> last_{};
  std::uint64_t last_prompt_ = 0, last_hit_ = 0, requests_ = 0;
};

}  // namespace canopy::metrics
