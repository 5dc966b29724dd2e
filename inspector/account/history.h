#pragma once

#include <mirror/mirror.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bucket.h"
#include "span.h"
#include "totals.h"

namespace canopy::inspector {

/// The accountant of a feed: counts.h has the rule of each count. It keeps the past over time: counts in buckets of
/// equally many commits, the lives of requests, and marks. Memory is bounded: when there are kMostBuckets, neighbours
/// are merged in pairs and a bucket covers twice as many commits; of spans and marks the newest are kept (but see
/// keep_all_spans). Or it keeps
/// sums only, for an exporter. The work for an event does not depend on the length of the past.
class History final : MirrorWatcher {
 public:
  static constexpr std::size_t kMostBuckets = 4096, kMostSpans = 32768, kMostMarks = 1024, kMostTenants = 127;
  /// Name of the row of all namespaces without a row of their own.
  static constexpr const char* kOthers = "(others)";

  History() = default;
  /// Begins with the mirror's state: the next commit is the first one that it sees.
  explicit History(const Mirror& mirror);
  /// Keeps one bucket for all time, totals() and no spans. The feed may end and come back: counts continue, and the
  /// present state starts again. A row belongs to a name, even if a restarted engine numbers its namespaces
  /// differently; the first `rows` names have one each.
  static History of_sums(std::size_t rows);
  /// Keeps the spans of all requests from now on. For a recording, which bounds them: a span takes five times the bytes
  /// of the event with which its request begins.
  void keep_all_spans() { most_spans_ = ~std::size_t{0}; }

  /// Returns the watcher to pass to Mirror::take. REQUIRES: the mirror is the one that takes, and no commit that was
  /// already seen is taken again.
  MirrorWatcher* watch(const Mirror& mirror) { return mirror_ = &mirror, this; }

  /// Call it when the mirror ends before the history. The reasons of requests that run then are final.
  void forget_mirror() { mirror_ = nullptr, not_judged_ = {}; }

  // With of_sums():
  /// Call it when the feed begins again, with another mirror.
  void begin_life();
  const Totals& totals() const { return *totals_; }
  /// Returns the missed tokens by reason; those of a request count once its reason is final, so they never fall.
  std::array<std::uint64_t, kReasons> final_misses() const;
  std::optional<double> recent_hit_rate() const { return recent_.rate(); }
  /// Returns the depth at which the deepest node ends, in tokens.
  std::uint64_t depth() const { return ends_.empty() ? 0 : ends_.rbegin()->first; }
  /// Returns true if a namespace had no row of its own.
  bool has_others() const { return has_others_; }
  /// Returns the engine's counters at the keyframe with which the mirror came into step.
  const CounterValues& counters_at_step() const { return counters_at_step_; }

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
    return number < rows_.size() && rows_[number] != kNotSeen ? rows_[number] : 0;
  }

  const std::deque<RequestSpan>& spans() const { return spans_; }          ///< in order of arrival, without tries
  std::uint64_t forgotten_spans() const { return first_span_; }            ///< older requests that are not kept
  const std::deque<HistoryMark>& marks() const { return marks_; }          ///< oldest first
  const std::deque<LostStretch>& lost() const { return lost_stretches_; }  ///< oldest first, at most kMostMarks
  /// Returns the first commit with figures that its engine did not write; none: all that was seen fits together.
  HistoryMoment damaged() const { return damaged_; }
  HistoryMoment last() const { return last_; }
  /// Returns the first operation; the keyframe while there is none.
  HistoryMoment first_operation() const { return first_; }
  std::uint32_t page_size() const { return page_size_; }
  std::size_t groups() const { return groups_.size(); }
  const std::string& group_name(std::size_t group) const { return groups_[group].name; }
  bool has_tiers() const { return has_tiers_; }
  bool has_storage() const { return has_storage_; }  ///< true if there was a storage below the host tier
  /// True if requests, hits and limits are known: a feed made of other servers' KV events reports none.
  bool has_requests() const { return has_requests_; }
  bool has_nodes() const { return has_nodes_; }  ///< false if the index reports no nodes
  /// Returns what figures of evicted tokens that came back are.
  Bound bound() const { return has_unnamed_pages_ ? Bound::about : at_least_ ? Bound::at_least : Bound::none; }
  /// Returns what the hits of larger pools are. The last page of a prompt counts there, although a match may have to
  /// leave it out: whether it has to is known once a match returned one.
  Bound kept_bound() const {
    return last_page_kept_ && !last_page_matched_ ? static_cast<Bound>(static_cast<int>(bound()) | 1) : bound();
  }

 private:
  void begin_again(bool known) override;
  void added(const MirrorNode& node) override;
  void split(const MirrorNode& upper) override;
  void joining(const MirrorNode& upper) override;
  void matched(const MirrorNode& node) override;
  void used(const MirrorNode& node) override;
  void left(const MirrorNode& node, std::size_t group, Operation operation) override;
  void removed(const MirrorNode& node) override;
  void begun(const MirrorRequest& request) override;
  void admitted(const MirrorRequest& request) override;
  void progressed(const MirrorRequest& request) override;
  void returned(const MirrorNode& node, const Returned& part, bool fetched) override;
  void filled(const MirrorNode& node, std::size_t group, bool lost) override;
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
  void forget_end(Units end);
  void add_mark(HistoryMark::Kind kind, std::string text);
  void note_time(Bucket& bucket);
  void mark_changes(const LogLine& line);
  void count_traffic(Bucket& bucket);
  void count_kept(Bucket& bucket, std::uint64_t evicted, const MirrorRequest* request);
  void count_regret(const MirrorNode& node, std::uint64_t tokens);
  void count_leaving(const MirrorNode& node, std::size_t group, EvictionCause cause);
  /// The reasons under which a request's missed tokens are counted.
  struct Counted {
    std::uint32_t evicted = 0, flushed = 0;  ///< missed tokens that had left, and those of them that a flush took
    std::uint8_t rest = 0;                   ///< reason of the others
    friend bool operator==(const Counted&, const Counted&) = default;
  };
  /// A request that runs, or waits to be admitted.
  struct Running {
    std::uint64_t span = 0;      ///< number of its span
    std::uint64_t admitted = 0;  ///< commit; 0: it waits
    std::uint64_t evicted = 0;   ///< Mirror::evicted_tokens when it began
    std::uint32_t row = 0;       ///< its tenant's
    std::uint32_t prompt = 0, matched = 0, missed = 0;
    Counted verdict{};
    bool judged = false;  ///< true if its reasons are final
  };
  RequestSpan* span_of(const Running& running);
  void pass_time();
  void follow_locks(const MirrorRequest& request);
  void count_locks();
  void forget_try(const MirrorRequest& request);
  void judge(Running& running, const MirrorRequest& request);
  static void show_reasons(RequestSpan& span, const Running& running);
  Counted counted(const Running& running, const MirrorRequest& request) const;
  template <class Add>
  static void each_reason(const Running& running, Add&& add);
  void count_missed(const Running& running, bool in);
  void follow(RequestSpan& span, const MirrorRequest& request) const;
  PrefixFigure figure(const MirrorNode& node, std::uint64_t tokens) const;
  HistoryMoment moment() const;
  std::uint64_t pages(const NodePart& part) const { return part.length / mirror_->page_size(); }

  const Mirror* mirror_ = nullptr;
  std::uint64_t before_ = 0, stride_ = 1;
  HistoryMoment first_, last_, damaged_;
  std::vector<Bucket> buckets_;
  std::vector<Tenant> tenants_{{{}, kOthers}};
  static constexpr std::uint32_t kNotSeen = ~std::uint32_t{0};
  std::vector<std::uint32_t> rows_;        ///< by number of the namespace; may be kNotSeen
  std::vector<std::uint64_t> held_ = {0};  ///< tokens in the tree now, by row
  std::deque<RequestSpan> spans_;
  std::uint64_t first_span_ = 0;                              ///< number of spans_.front()
  std::unordered_map<std::uint64_t, Running> running_;        ///< by the request's id
  std::unordered_map<std::uint64_t, std::uint32_t> locking_;  ///< rows of the requests that have locks, by their ids
  std::map<std::uint32_t, std::uint64_t> locks_;              ///< numbers of those requests, by row
  std::uint64_t passed_us_ = 0;                               ///< time until which their locks are counted
  std::deque<HistoryMark> marks_;
  std::deque<LostStretch> lost_stretches_;
  bool has_operation_ = false;  ///< first_ is an operation
  struct Group {
    std::string name, policy;
    std::uint64_t limit = 0;
  };
  std::vector<Group> groups_;
  std::vector<std::string> servers_;  ///< state of each server
  TrafficCounts traffic_{};           ///< the engine's totals at the last commit
  std::uint32_t page_size_ = 1;
  std::vector<PaidTokens> lost_;                ///< losses of rows to make room, in the commit that is being applied
  std::vector<Returned> returned_;              ///< parts that were computed again in the commit that is being applied
  std::uint64_t evicted_at_ = 0, evicted_ = 0;  ///< commit of the last eviction for room, and its tokens
  bool keyframe_ = false, began_ = false, has_tiers_ = false, has_storage_ = false, has_requests_ = true;
  bool has_nodes_ = true, has_others_ = false, has_unnamed_pages_ = false, at_least_ = false;
  bool last_page_kept_ = false, last_page_matched_ = false;
  std::size_t most_tenants_ = kMostTenants, most_spans_ = kMostSpans;
  // Only with of_sums():
  std::optional<Totals> totals_;
  std::array<std::uint64_t, kReasons> not_judged_{};  ///< missed tokens of requests whose reasons are not final
  RecentHits recent_;
  std::map<Units, std::uint64_t> ends_;  ///< number of nodes that end at each depth
  CounterValues counters_at_step_;
};

}  // namespace canopy::inspector
