#include "tally.h"

#include <algorithm>
#include <utility>

namespace canopy::metrics {

using inspector::Count;
using inspector::MirrorPool;
using inspector::Miss;

Tally::Tally(std::string feed, std::size_t tenants)
    : feed_(std::move(feed)), sums_(inspector::History::of_sums(tenants)), shares_(tenants) {}

void Tally::attach(const FeedShape& header) {
  mirror_.emplace(header);
  process_ = header.pid;
  totalled_ = false;
  ++attached_;
  sums_.begin_life();
}

void Tally::take(std::span<const Event> events) {
  if (!mirror_) return;
  // The tiers' counters come with totals: only then are hits and counters of one moment.
  for (std::size_t at = 0, end = 0; at < events.size(); at = end) {
    bool whole = false;
    for (; end < events.size() && !whole; ++end) {
      totalled_ = totalled_ || is<event::Totals>(events[end]);
      whole = totalled_ && is<event::Commit>(events[end]);
    }
    mirror_->take(events.subspan(at, end - at), sums_.watch(*mirror_));
    if (whole && in_step()) count_pool_hits();
    if (whole) totalled_ = false;
  }
  if (!in_step()) return;
  shares_.choose(*mirror_);
  if (!mirror_->has_host()) count_pool_hits();
}

void Tally::lost() {
  tiers_ = tiers();
  ++laps_;
  totalled_ = false;
  if (mirror_) mirror_->lost();
}

void Tally::detach() {
  tiers_ = tiers();
  if (mirror_) shares_.keep(*mirror_);
  mirror_.reset();
  sums_.forget_mirror();
}

/// Returns the totals counted before, plus what has happened since the mirror came into step; for gauges, the present
/// values.
CounterValues Tally::tiers() const {
  if (!in_step()) return tiers_;
  CounterValues sum = mirror_->counters();
  const CounterValues& at_step = sums_.counters_at_step();
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    std::uint64_t& value = sum.at(counter, row, column);
    if (info.kind != CounterKind::gauge)
      value = tiers_.at(counter, row, column) + value - std::min(value, at_step.at(counter, row, column));
  });
  return sum;
}

/// Counts the hits that no fetch had brought.
void Tally::count_pool_hits() {
  const std::uint64_t hits = sums_.buckets().front().counts[Count::hit];
  std::uint64_t others = 0;
  if (mirror_->has_host()) {
    const CounterValues below = tiers();
    others = below[Counter::hit_tokens_host] + below[Counter::hit_tokens_storage] +
             sums_.totals().admitted_hits.of(sums_.commits());
  }
  // A counter never falls, also if the tiers' hits come before those of their request.
  pool_hits_ = std::max(pool_hits_, hits - std::min(hits, others));
}

Moment Tally::moment() const {
  Moment now;
  now.page_size = mirror_->page_size();
  now.process = process_;
  now.nodes = mirror_->node_count();
  now.namespaces = mirror_->spaces().size();
  now.depth = sums_.depth();
  now.running = mirror_->running();
  now.pinned = mirror_->pins().size();
  now.drift = mirror_->drift();
  now.damaged = mirror_->damaged();
  now.doubts = doubts();
  now.paused = !mirror_->paused().empty();
  for (std::size_t g = 0; g < mirror_->groups(); ++g) {
    const MirrorPool& pool = mirror_->pool(g);
    const std::uint64_t page = now.page_size;
    PoolFigures& figures = now.pools.emplace_back();
    figures = {pool.name,
               pool.policy,
               pool.reach,
               pool.counted.free * page,
               pool.counted.evictable * page,
               pool.counted.protected_ * page,
               pool.counted.owned * page,
               {},
               pool.waiting};
    const std::uint64_t limit = pool.callers.pages != 0 ? pool.callers.pages : pool.limit;
    if (limit != kUnlimited && limit != 0) figures.limit = limit * page;  // 0: the feed has not reported a pool
  }
  now.host = mirror_->has_host();
  if (!mirror_->storage().empty()) now.storage = mirror_->storage_health();
  return now;
}

Doubts Tally::doubts() const { return mirror_ ? mirror_->doubts() : Doubts{}; }

Counts Tally::counts() const {
  Counts counts{sums_.totals(), attached_, laps_, 0, {}, sums_.commits(), pool_hits_};
  counts.inserted_tokens = sums_.buckets().front().counts[Count::inserted];
  const auto misses = sums_.final_misses();
  for (std::size_t reason = 0; reason < misses.size(); ++reason) {
    const Miss miss = reason == inspector::kFlushedReason ? Miss::evicted : static_cast<Miss>(reason);
    counts.missed_tokens[info_of(miss).label] += misses[reason];
  }
  return counts;
}

std::vector<TenantFigures> Tally::tenants() const {
  std::vector<TenantFigures> rows;
  for (const auto& tenant : sums_.tenants()) rows.push_back({tenant.name, 0, 0, 0, 0, {}});
  rows.front().label = kOthers;
  if (!sums_.empty())
    for (const inspector::TenantCounts& each : sums_.buckets().front().tenants) {
      TenantFigures& to = rows[each.row];
      to.requests = each.counts[Count::requests], to.tries = each.counts[Count::tries];
      to.prompt_tokens = each.counts[Count::prompt], to.hit_tokens = each.counts[Count::hit];
    }
  if (in_step())
    for (std::size_t row = 0; row < rows.size(); ++row) rows[row].resident_tokens = sums_.held(0)[row];
  std::rotate(rows.begin(), rows.begin() + 1, rows.end());
  if (!sums_.has_others()) rows.pop_back();
  return rows;
}

Figures Tally::figures() const {
  Figures figures;
  figures.feed = feed_;
  figures.from_events = !sums_.has_requests();
  figures.no_nodes = !sums_.has_nodes();
  figures.attached = mirror_.has_value();
  if (in_step()) figures.now = moment();
  if (!sums_.empty()) figures.counts = counts();
  figures.host = sums_.has_tiers(), figures.storage = sums_.has_storage();
  figures.tiers = tiers();
  if (in_step()) figures.hit_rate = sums_.recent_hit_rate();
  figures.tenants = tenants();
  figures.shares = shares_.figures(mirror_ ? &*mirror_ : nullptr);
  return figures;
}

}  // namespace canopy::metrics
