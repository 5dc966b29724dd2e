/// Functions that record the state after a commit.
#include <canopy/base/figures.h>
#include <canopy/feed/counters.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "history.h"

namespace canopy::inspector {
namespace {

std::string limit_words(std::uint64_t pages, std::uint32_t page_size) {
  return pages == kUnlimited ? "none" : grouped(pages * page_size) + " tokens";
}

/// Returns the engine's totals.
TrafficCounts totals_of(const CounterValues& counters) {
  const auto sum = [&](Counter counter) {
    const std::span<const std::uint64_t> all = counters.all(counter);
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  };
  return {sum(Counter::fetches), sum(Counter::loaded_tokens_host), sum(Counter::written_tokens_host),
          sum(Counter::loaded_tokens_storage), sum(Counter::written_tokens_storage)};
}

}  // namespace

/// Records what passed since the commit before. A keyframe is no operation: only a reader has it.
void History::note_time(Bucket& bucket) {
  const HistoryMoment before = std::exchange(last_, {mirror_->commits(), mirror_->us()});
  bucket.commits.last = last_.commit, bucket.last_us = last_.us;
  if (!has_operation_) first_ = last_, has_operation_ = !keyframe_;
  else if (const Bucket::Idle idle{before.us, last_.us}; !keyframe_ && idle.us() > bucket.idle.us()) bucket.idle = idle;
  if (!lost_stretches_.empty() && !lost_stretches_.back().until) lost_stretches_.back().until = last_;
}

void History::committed(const LogLine& line) {
  if (keyframe_) passed_us_ = mirror_->us(), count_locks();
  else pass_time();
  Bucket& bucket = bucket_for(mirror_->commits());
  note_time(bucket);
  bucket.running = mirror_->running();
  bucket.pools.resize(mirror_->groups());
  for (std::size_t g = 0; g < bucket.pools.size(); ++g)
    bucket.pools[g] = {mirror_->pool(g).counted, mirror_->pool(g).limit};
  page_size_ = mirror_->page_size();
  has_tiers_ = has_tiers_ || mirror_->has_host();
  has_storage_ = has_storage_ || !mirror_->storage().empty();
  has_requests_ = !mirror_->is_from_events();
  has_nodes_ = mirror_->no_nodes().empty();
  has_unnamed_pages_ |= !mirror_->identifies_pages();
  if (totals_) ++totals_->operations;
  if (totals_ && line.operation == Operation::resize)
    for (auto& [group, counts] : totals_->leaving) counts.resized(last_.commit);
  if (totals_ && keyframe_) counters_at_step_ = mirror_->counters();
  count_traffic(bucket);
  // To lower a limit, the engine first evicts and then resizes.
  if (line.operation == Operation::resize && evicted_at_ + 1 == last_.commit)
    if (Bucket* before = bucket_of(evicted_at_)) {
      before->evicted[static_cast<std::size_t>(EvictionCause::room)] -= evicted_;
      before->evicted[static_cast<std::size_t>(EvictionCause::limit)] += evicted_;
    }
  if (line.taker && !totals_ && mirror_->tenants().all.empty()) {
    const std::uint32_t taker = see(*line.taker);
    for (const PaidTokens& lost : lost_)
      if (lost.from != taker) bucket.pay({lost.from, taker, lost.tokens});
  }
  lost_.clear();
  if (!returned_.empty()) count_kept(bucket, mirror_->evicted_tokens(), nullptr);  // inserted without a request
  at_least_ |= mirror_->has_forgotten();
  mark_changes(line);
  keyframe_ = false;
}

void History::count_traffic(Bucket& bucket) {
  if (!mirror_->has_host()) return;
  const TrafficCounts before = std::exchange(traffic_, totals_of(mirror_->counters()));
  if (keyframe_) return;  // the totals before are not known
  for (std::size_t i = 0; i < traffic_.size(); ++i) bucket.traffic[i] += traffic_[i] - std::min(traffic_[i], before[i]);
}

void History::mark_changes(const LogLine& line) {
  const auto mark = [&](HistoryMark::Kind kind, std::string text) {
    add_mark(kind, std::move(text));
    marks_.back().at = last_;
  };
  const bool may_differ = keyframe_ || line.operation == Operation::resize || line.operation == Operation::policy ||
                          groups_.size() != mirror_->groups();
  if (may_differ) {
    groups_.resize(mirror_->groups());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const MirrorPool& pool = mirror_->pool(g);
      const Group before = std::exchange(groups_[g], {pool.name, pool.policy, pool.limit});
      if (before.name.empty()) continue;
      if (before.policy != pool.policy)
        mark(HistoryMark::Kind::policy, "policy of " + pool.name + ": " + before.policy + " to " + pool.policy);
      if (before.limit != pool.limit)
        mark(HistoryMark::Kind::limit, "limit of " + pool.name + ": " + limit_words(before.limit, page_size_) + " to " +
                                           limit_words(pool.limit, page_size_));
    }
  }
  if (!damaged_ && (mirror_->damaged() > 0 || mirror_->drift() > 0)) {
    damaged_ = last_;
    mark(HistoryMark::Kind::damaged,
         mirror_->damaged() > 0
             ? "impossible figures: the file was damaged, or another process has written into the feed"
             : "the engine's totals are not those of its events");
  }
  if (line.operation == Operation::flush) mark(HistoryMark::Kind::flush, "flush");
}

}  // namespace canopy::inspector
