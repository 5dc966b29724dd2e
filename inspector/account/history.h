#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bucket.h"
#include "span.h"

namespace canopy::inspector {

/// The past of a feed over time: counts in buckets of equally many commits, the lives of requests, and marks. Memory is
/// bounded: when there are kMostBuckets, neighbours are merged in pairs and a bucket covers twice as many commits; of
/// spans and marks the newest are kept. The work for an event does not depend on the length of the past.
class History final : MirrorWatcher {
 public:
  static constexpr std::size_t kMostBuckets = 4096, kMostSpans = 32768, kMostMarks = 1024, kMostTenants = 127;
  /// Name of the row of all namespaces without a row of their own.
  static constexpr const char* kOthers = "(others)";

  History() = default;
  /// Begins with the mirror's state: the next commit is the first one that it sees.
  explicit History(const Mirror& mirror);

  /// Returns the watcher to pass to Mirror::take. REQUIRES: the mirror is the one that takes, and no commit that was
  /// already seen is taken again.
  MirrorWatcher* watch(const Mirror& mirror) { return mirror_ = &mirror, this; }

  /// Call it when the mirror ends before the history.
  void forget_mirror() { mirror_ = nullptr; }

  /// Number of the last commit that was seen.
  std::uint64_t commits() const { return last_.commit; }
  CommitRange all() const { return {before_ + 1, last_.commit}; }
  bool empty() const { return buckets_.empty(); }
  const std::vector<Bucket>& buckets() const { return buckets_; }  ///< oldest first
  std::uint64_t stride() const { return stride_; }                 ///< commits of a bucket
  /// Returns the places of the buckets that overlap a range, as a half-open interval.
  std::pair<std::size_t, std::size_t> places(CommitRange range) const;
  /// Returns the range that the buckets can answer for: the smallest one of whole buckets around `range`.
  CommitRange snapped(CommitRange range) const;
  /// Tokens in the tree after a bucket, by tenant's row.
  const std::vector<std::uint64_t>& held(std::size_t bucket) const {
    return bucket + 1 == buckets_.size() ? held_ : buckets_[bucket].held;
  }

  /// A namespace with a row of its own, or all others together (row 0).
  struct Tenant {
    NamespaceId space{};
    std::string name;
  };
  const std::vector<Tenant>& tenants() const { return tenants_; }  ///< row 0: all others
  /// Returns the row of a namespace; 0 if it has none.
  std::uint32_t row_of(NamespaceId space) const {
    const auto number = static_cast<std::size_t>(space);
    return number < rows_.size() ? rows_[number] : 0;
  }

  const std::deque<RequestSpan>& spans() const { return spans_; }  ///< in order of arrival
  std::uint64_t forgotten_spans() const { return first_span_; }    ///< older requests that are not kept
  const std::deque<HistoryMark>& marks() const { return marks_; }  ///< oldest first
  HistoryMoment last() const { return last_; }
  std::uint32_t page_size() const { return page_size_; }
  std::size_t groups() const { return groups_.size(); }
  const std::string& group_name(std::size_t group) const { return groups_[group].name; }
  bool has_tiers() const { return has_tiers_; }
  /// True if requests, hits and limits are known: a feed made of other servers' KV events reports none.
  bool has_requests() const { return has_requests_; }

 private:
  void begin_again(bool known) override;
  void added(const MirrorNode& node) override;
  void matched(const MirrorNode& node) override;
  void used(const MirrorNode& node) override;
  void left(const MirrorNode& node, std::size_t group, Operation operation) override;
  void removed(const MirrorNode& node) override;
  void begun(const MirrorRequest& request) override;
  void progressed(const MirrorRequest& request) override;
  void returned(const MirrorNode& node, const Ghost& ghost) override;
  void paid(std::uint32_t from, std::uint32_t taker, std::uint64_t tokens) override {
    now().pay({from, taker, tokens});
  }
  void named(TextKind text, std::size_t number) override;
  void committed(const LogLine& line) override;

  /// Returns the bucket of the commit that is being applied: the mirror's number is still that of the one before.
  Bucket& now() { return bucket_for(mirror_->commits() + 1); }
  Bucket* bucket_of(std::uint64_t commit);
  Bucket& bucket_for(std::uint64_t commit);
  void merge();
  std::uint32_t see(NamespaceId space);
  void add_mark(HistoryMark::Kind kind, std::string text);
  void mark_changes(const LogLine& line);
  void count_traffic(Bucket& bucket);
  void count_kept(Bucket& bucket, std::uint64_t evicted);
  void judge(RequestSpan& span, const MirrorRequest& request);
  PrefixFigure figure(const MirrorNode& node, std::uint64_t tokens) const;
  HistoryMoment moment() const;

  const Mirror* mirror_ = nullptr;
  std::uint64_t before_ = 0, stride_ = 1;
  HistoryMoment last_;
  std::vector<Bucket> buckets_;
  std::vector<Tenant> tenants_{{{}, kOthers}};
  std::vector<std::uint32_t> rows_;  ///< by number of the namespace
  std::vector<std::uint64_t> held_;  ///< tokens in the tree now, by row
  std::deque<RequestSpan> spans_;
  std::uint64_t first_span_ = 0;                              ///< number of spans_.front()
  std::unordered_map<std::uint64_t, std::uint64_t> running_;  ///< numbers of the spans of running requests, by id
  std::deque<HistoryMark> marks_;
  struct Group {
    std::string name, policy;
    std::uint64_t limit = 0;
  };
  std::vector<Group> groups_;
  std::vector<std::string> servers_;  ///< state of each server
  TrafficCounts traffic_{};           ///< the engine's totals at the last commit
  std::uint32_t page_size_ = 1;
  std::vector<PaidTokens> lost_;  ///< losses of rows to make room, in the commit that is being applied
  struct Returned {
    std::uint64_t tokens = 0, evicted_before = 0;  ///< evicted_before: see Ghost
  };
  std::vector<Returned> returned_;              ///< nodes that came back in the commit that is being applied
  std::uint64_t evicted_at_ = 0, evicted_ = 0;  ///< commit of the last eviction for room, and its tokens
  bool keyframe_ = false, began_ = false, has_tiers_ = false, has_requests_ = true;
};

}  // namespace canopy::inspector
