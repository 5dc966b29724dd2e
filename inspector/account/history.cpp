#include "history.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {
namespace {

/// Returns the time or work between two moments. A clock that another process has overwritten may run backwards.
constexpr std::uint64_t elapsed(std::uint64_t then, std::uint64_t now) { return now > then ? now - then : 0; }

}  // namespace

History::History(const Mirror& mirror) : mirror_(&mirror), before_(mirror.commits()), last_{before_, mirror.us()} {
  began_ = mirror.in_step();
  at_least_ = began_;
  if (began_) first_ = last_, has_operation_ = true;
  for (std::size_t number = 0; number < mirror.spaces().size(); ++number)
    if (const std::uint64_t tokens = mirror.spaces()[number].tokens)
      held_[see(NamespaceId{static_cast<std::uint32_t>(number)})] += tokens;
  passed_us_ = last_.us;
  count_locks();
}

History History::of_sums(std::size_t rows) {
  History sums;
  sums.totals_.emplace();
  sums.stride_ = ~std::uint64_t{0};
  sums.most_tenants_ = rows, sums.most_spans_ = 0;
  return sums;
}

void History::begin_life() {
  rows_.clear();
  running_.clear();
  locking_.clear(), locks_.clear();
  ends_.clear();
  began_ = false;
}

std::pair<std::size_t, std::size_t> History::places(CommitRange range) const {
  if (range.empty() || buckets_.empty() || range.last <= before_ || range.first > last_.commit) return {0, 0};
  const std::uint64_t first = range.first > before_ ? (range.first - before_ - 1) / stride_ : 0;
  const std::uint64_t end = (std::min(range.last, last_.commit) - before_ - 1) / stride_ + 1;
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end)};
}

CommitRange History::snapped(CommitRange range) const {
  const auto [first, end] = places(range);
  if (first >= end) return {};
  return {buckets_[first].commits.first, buckets_[end - 1].commits.last};
}

HistoryMoment History::moment() const { return {mirror_->commits() + 1, mirror_->us()}; }

Bucket* History::bucket_of(std::uint64_t commit) {
  if (commit <= before_) return nullptr;
  const auto at = static_cast<std::size_t>((commit - before_ - 1) / stride_);
  return at < buckets_.size() ? &buckets_[at] : nullptr;
}

Bucket& History::bucket_for(std::uint64_t commit) {
  if (Bucket* known = bucket_of(commit)) return *known;
  if (buckets_.size() == kMostBuckets) merge();
  if (Bucket* merged = bucket_of(commit)) return *merged;
  if (!buckets_.empty()) buckets_.back().held = held_;
  Bucket& fresh = buckets_.emplace_back();
  fresh.commits = {commit, commit};
  fresh.first_us = fresh.last_us = mirror_->us();
  return fresh;
}

void History::merge() {
  buckets_.back().held = held_;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < buckets_.size(); i += 2, ++kept) {
    if (i != kept) buckets_[kept] = std::move(buckets_[i]);
    if (i + 1 < buckets_.size()) buckets_[kept].add(buckets_[i + 1]);
  }
  buckets_.resize(kept);
  stride_ *= 2;
}

std::uint32_t History::see(NamespaceId space) {
  const auto number = static_cast<std::size_t>(space);
  if (number >= rows_.size()) rows_.resize(number + 1, kNotSeen);
  std::uint32_t& row = rows_[number];
  if (row != kNotSeen) return row;
  const std::string name = mirror_->space_name(space);
  const auto known =
      totals_ ? std::ranges::find(tenants_.begin() + 1, tenants_.end(), name, &Tenant::name) : tenants_.end();
  if (known != tenants_.end()) {
    known->space = space;  // after a restart the name may have another number
    return row = static_cast<std::uint32_t>(known - tenants_.begin());
  }
  if (tenants_.size() > most_tenants_) {
    has_others_ = true;
    return row = 0;
  }
  row = static_cast<std::uint32_t>(tenants_.size());
  tenants_.push_back({space, name});
  held_.resize(tenants_.size());
  return row;
}

PrefixFigure History::figure(const MirrorNode& node, std::uint64_t tokens) const {
  return {.lineage = node.lineage,
          .node = node.id,
          .commit = mirror_->commits() + 1,
          .space = node.space,
          .begin = node.begin,
          .length = node.length,
          .times = 1,
          .tokens = tokens};
}

void History::begin_again(bool known) {
  held_.assign(tenants_.size(), 0);
  // Their reasons of before the loss are all that is known of them.
  for (auto& [id, running] : running_)
    if (const MirrorRequest* request = running.admitted != 0 ? mirror_->request(id) : nullptr) judge(running, *request);
  running_.clear(), not_judged_ = {};
  ends_.clear();
  lost_.clear(), returned_.clear();
  recent_ = {};
  if (totals_) totals_->settle();
  keyframe_ = true;
  at_least_ |= !known;
  if (!std::exchange(began_, true) || known) return;
  add_mark(HistoryMark::Kind::lost, "events were lost");
  if (totals_) return;
  lost_stretches_.push_back({last_, {}});
  if (lost_stretches_.size() > kMostMarks) lost_stretches_.pop_front();
}

void History::added(const MirrorNode& node) {
  held_[see(node.space)] += node.length;
  if (totals_) ++ends_[node.end()];
  if (node.reported_late) return;
  Bucket& bucket = now();
  bucket.counts[Count::inserted] += node.length;
  bucket.of(row_of(node.space))[Count::inserted] += node.length;
}

void History::split(const MirrorNode& upper) {
  if (totals_) ++ends_[upper.end()];
}

void History::joining(const MirrorNode& upper) { forget_end(upper.end()); }

void History::forget_end(Units end) {
  if (const auto at = ends_.find(end); at != ends_.end() && --at->second == 0) ends_.erase(at);
}

void History::matched(const MirrorNode& node) { now().hits.add(figure(node, node.length)); }

void History::used(const MirrorNode& node) {
  if (!node.has(0)) return;
  node.each_part([&](const NodePart& part) {
    if (part.used_us == kTimeNotKnown) return;
    const std::uint64_t work = elapsed(part.used_work, mirror_->work());
    now().histogram(Measure::reuse).add(work, part.length);
    if (!totals_) return;
    totals_->reuse_gap_s.add(elapsed(part.used_us, mirror_->us()), pages(part));
    totals_->reuse_distance.add(work, pages(part));
  });
}

void History::left(const MirrorNode& node, std::size_t group, Operation operation) {
  const EvictionCause cause = cause_of(operation);
  if (totals_) count_leaving(node, group, cause);
  if (group != 0) return;
  Bucket& bucket = now();
  Counts& tenant = bucket.of(see(node.space));
  bucket.evicted[static_cast<std::size_t>(cause)] += node.length;
  node.each_part([&](const NodePart& part) {
    if (part.added_us != kTimeNotKnown)
      bucket.histogram(Measure::lifetime).add(elapsed(part.added_us, mirror_->us()), part.length);
  });
  bucket.counts[Count::evicted] += node.length;
  tenant[Count::evicted] += node.length;
  if (cause == EvictionCause::room) {
    const std::uint64_t commit = mirror_->commits() + 1;
    if (std::exchange(evicted_at_, commit) != commit) evicted_ = 0;
    evicted_ += node.length;
    lost_.push_back({row_of(node.space), 0, node.length});
  }
  if (node.matches != 0 || node.reported_late || cause == EvictionCause::flush) return;
  if (mirror_->is_from_events()) return;  // KV events do not show what requests find
  bucket.counts[Count::wasted] += node.length;
  tenant[Count::wasted] += node.length;
  bucket.waste.add(figure(node, node.length));
}

/// Counts what an exporter shows of a group's pages that leave.
void History::count_leaving(const MirrorNode& node, std::size_t group, EvictionCause cause) {
  LeavingCounts& counts = totals_->leaving[mirror_->pool(group).name];
  counts.add(cause, node.length, mirror_->commits() + 1);
  if (cause == EvictionCause::flush) return;
  node.each_part([&](const NodePart& part) {
    if (part.added_us != kTimeNotKnown) counts.lifetime_s.add(elapsed(part.added_us, mirror_->us()), pages(part));
    if (part.used_us != kTimeNotKnown) {
      counts.idle_s.add(elapsed(part.used_us, mirror_->us()), pages(part));
      counts.idle_work.add(elapsed(part.used_work, mirror_->work()), pages(part));
    }
  });
}

void History::removed(const MirrorNode& node) {
  std::uint64_t& held = held_[see(node.space)];
  held -= std::min<std::uint64_t>(held, node.length);
  forget_end(node.end());
}

void History::count_regret(const MirrorNode& node, std::uint64_t tokens) {
  Bucket& bucket = now();
  bucket.counts[Count::regretted] += tokens;
  bucket.of(see(node.space))[Count::regretted] += tokens;
  bucket.regret.add(figure(node, tokens));
}

void History::returned(const MirrorNode& node, const Returned& part, bool fetched) {
  const EvictionCause cause = cause_of(part.operation);
  if (!fetched) {
    count_regret(node, part.length);
    returned_.push_back(part);
    return;
  }
  if (!part.unmatched || cause == EvictionCause::flush || totals_) return;
  if (Bucket* const bucket = bucket_of(part.commit))
    for (Counts* counts : {&bucket->counts, &bucket->of(see(node.space))})
      (*counts)[Count::wasted] -= std::min<std::uint64_t>((*counts)[Count::wasted], part.length);
}

void History::filled(const MirrorNode& node, std::size_t group, bool lost) {
  if (group != 0) return;
  Bucket& bucket = now();
  bucket.counts[Count::inserted] += node.length;
  bucket.of(see(node.space))[Count::inserted] += node.length;
  if (lost) count_regret(node, node.length);
}

/// Counts the parts that came back under the pools that would have kept them: those with room for what was evicted
/// since then, the part itself included. `evicted`: Mirror::evicted_tokens when their request began, because such a
/// pool would have evicted nothing for them. Only what a match of the request could have found counts; null: all.
void History::count_kept(Bucket& bucket, std::uint64_t evicted, const MirrorRequest* request) {
  const Units page = mirror_->page_size(), from = request ? request->matched : 0,
              until = request ? request->prompt / page * page : ~Units{0};
  const MirrorPool& pool = mirror_->pool(0);
  const MirrorPool::Sums& pages = pool.counted;
  const std::uint64_t size =
      page * (pool.limit == kUnlimited ? pages.free + pages.evictable + pages.protected_ + pages.owned : pool.limit);
  for (const Returned& part : returned_) {
    const EvictionCause cause = cause_of(part.operation);
    if (cause == EvictionCause::flush || cause == EvictionCause::other) continue;  // no pool would have kept it
    const Units first = std::max(part.begin, from);
    const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{part.begin} + part.length, until);
    if (first >= end) continue;
    last_page_kept_ |= request && end > request->reusable(page);
    const std::uint64_t since = evicted - std::min(evicted, part.evicted_before);
    for (std::size_t i = 0; i < kLargerPools.size(); ++i)
      if (kLargerPools[i] == kUnlimited || since <= size * (kLargerPools[i] - 100) / 100) bucket.kept[i] += end - first;
  }
  returned_.clear();
}

}  // namespace canopy::inspector
