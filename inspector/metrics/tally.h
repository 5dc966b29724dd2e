#pragma once

#include <mirror/mirror.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "figures.h"
#include "tenants.h"

namespace canopy::metrics {

/// Keeps the figures of a feed running as its events come, so that to ask for them costs the same whatever the tree
/// has. The feed may end and come back: counts go on, and what is there now begins anew.
class Tally final : inspector::MirrorWatcher {
 public:
  /// At most `tenants` namespaces have figures of their own.
  Tally(std::string feed, std::size_t tenants);

  /// A feed of this header was found.
  void attach(const FeedShape& header);
  void take(std::span<const Event> events);
  /// Some were lost: what is there is not known until the next keyframe.
  void lost();
  /// The feed has ended.
  void detach();
  bool in_step() const { return mirror_ && mirror_->in_step(); }
  /// O(tenants + groups).
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
  std::optional<TierNow> tier() const;
  TierCounts tier_told() const;
  TierCounts tier_counted() const;
  StorageCounts storage_counted() const;
  std::uint64_t pages(const inspector::MirrorNode& node) const { return node.length / mirror_->page_size(); }

  std::string feed_;
  std::optional<inspector::Mirror> mirror_;
  std::uint64_t process_ = 0;
  bool ever_in_step_ = false, from_events_ = false, no_nodes_ = false;
  Counts counts_;
  Tenants tenants_;
  bool has_tier_ = false;    ///< one was told of
  TierCounts tier_counts_;   ///< until the last loss or end of the feed
  TierCounts tier_at_step_;  ///< what the feed told when the mirror came into step
  bool has_storage_ = false;
  StorageCounts storage_counts_, storage_at_step_;  ///< as those of the tier
  std::uint64_t tree_tokens_ = 0, commits_before_ = 0;
  std::map<Units, std::uint64_t> ends_;  ///< depths at which nodes end, and how many
  /// Requests whose begin was seen and whose end was not.
  struct Live {
    std::uint32_t prompt = 0, matched = 0;
    bool judged = false;  ///< its verdict is counted
  };
  std::unordered_map<std::uint64_t, Live> live_;
  /// Prompt and matched tokens of the last requests.
  std::array<std::pair<std::uint32_t, std::uint32_t>, kHitRateRequests> last_{};
  std::uint64_t last_prompt_ = 0, last_hit_ = 0, requests_ = 0;
};

}  // namespace canopy::metrics
