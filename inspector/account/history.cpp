#include "history.h"

#include <mirror/feed_lines.h>

#include <algorithm>
#include <utility>

namespace canopy::inspector {

History::History(const Mirror& mirror) : mirror_(&mirror), before_(mirror.commits()), last_{before_, mirror.us()} {
  began_ = mirror.in_step();
  for (std::size_t number = 0; number < mirror.spaces().size(); ++number)
    if (const std::uint64_t tokens = mirror.spaces()[number].tokens)
      held_[see(NamespaceId{static_cast<std::uint32_t>(number)})] += tokens;
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
  if (number >= rows_.size()) {
    if (tenants_.size() > kMostTenants) return 0;
    rows_.resize(number + 1);
  }
  std::uint32_t& row = rows_[number];
  if (row == 0 && tenants_.size() <= kMostTenants) {
    row = static_cast<std::uint32_t>(tenants_.size());
    tenants_.push_back({space, mirror_->space_name(space)});
  }
  if (held_.size() < tenants_.size()) held_.resize(tenants_.size());
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
  held_.assign(held_.size(), 0);
  running_.clear();
  lost_.clear(), returned_.clear();
  keyframe_ = true;
  if (std::exchange(began_, true) && !known) add_mark(HistoryMark::Kind::lost, "events were lost");
}

void History::added(const MirrorNode& node) {
  held_[see(node.space)] += node.length;
  if (keyframe_) return;
  Bucket& bucket = now();
  bucket.counts[Count::inserted] += node.length;
  bucket.of(row_of(node.space))[Count::inserted] += node.length;
}

void History::matched(const MirrorNode& node) { now().hits.add(figure(node, node.length)); }

void History::used(const MirrorNode& node) {
  const std::uint64_t work = mirror_->prompt_tokens();
  if (node.used_us == kTimeNotKnown || !node.has(0)) return;
  now().histogram(Measure::reuse).add(work - std::min(work, node.used_work), node.length);
}

void History::left(const MirrorNode& node, std::size_t group, Operation operation) {
  if (group != 0) return;
  Bucket& bucket = now();
  Counts& tenant = bucket.of(see(node.space));
  const EvictionCause cause = cause_of(operation);
  bucket.evicted[static_cast<std::size_t>(cause)] += node.length;
  if (node.added_us != kTimeNotKnown)
    bucket.histogram(Measure::lifetime).add(mirror_->us() - std::min(mirror_->us(), node.added_us), node.length);
  bucket.counts[Count::evicted] += node.length;
  tenant[Count::evicted] += node.length;
  if (cause == EvictionCause::room) {
    const std::uint64_t commit = mirror_->commits() + 1;
    if (std::exchange(evicted_at_, commit) != commit) evicted_ = 0;
    evicted_ += node.length;
    lost_.push_back({row_of(node.space), 0, node.length});
  }
  if (node.matches != 0 || node.reported_late || cause == EvictionCause::flush) return;
  bucket.counts[Count::wasted] += node.length;
  tenant[Count::wasted] += node.length;
  bucket.waste.add(figure(node, node.length));
}

void History::removed(const MirrorNode& node) {
  std::uint64_t& held = held_[see(node.space)];
  held -= std::min<std::uint64_t>(held, node.length);
}

void History::returned(const MirrorNode& node, const Ghost& ghost) {
  const std::uint64_t tokens = std::min(node.length, ghost.length);
  Bucket& bucket = now();
  bucket.counts[Count::regretted] += tokens;
  bucket.of(see(node.space))[Count::regretted] += tokens;
  bucket.regret.add(figure(node, tokens));
  if (ghost.policy != kFlushPolicy) returned_.push_back({tokens, ghost.evicted_before});
}

/// Counts the nodes that came back under the pools that would have kept them: those with room for what was evicted
/// since then, the node itself included. `evicted`: Mirror::evicted_tokens when their request began, because such a
/// pool would have evicted nothing for them.
void History::count_kept(Bucket& bucket, std::uint64_t evicted) {
  const MirrorPool& pool = mirror_->pool(0);
  const MirrorPool::Sums& pages = pool.counted;
  const std::uint64_t size =
      mirror_->page_size() *
      (pool.limit == kUnlimited ? pages.free + pages.evictable + pages.protected_ + pages.owned : pool.limit);
  for (const Returned& node : returned_) {
    const std::uint64_t since = evicted - std::min(evicted, node.evicted_before);
    for (std::size_t i = 0; i < kLargerPools.size(); ++i)
      if (kLargerPools[i] == kUnlimited || since <= size * (kLargerPools[i] - 100) / 100) bucket.kept[i] += node.tokens;
  }
  returned_.clear();
}

/// Counts the missed tokens under the request's reason, in the bucket in which it began.
void History::judge(RequestSpan& span, const MirrorRequest& request) {
  const std::size_t reason = reason_of(request);
  if (reason == span.reason) return;
  if (Bucket* bucket = bucket_of(span.begun.commit)) {
    bucket->missed[span.reason] -= span.missed;
    bucket->missed[reason] += span.missed;
  }
  span.reason = static_cast<std::uint8_t>(reason);
}

void History::begun(const MirrorRequest& request) {
  Bucket& bucket = now();
  const std::uint32_t row = see(request.space);
  for (Counts* counts : {&bucket.counts, &bucket.of(row)}) {
    ++(*counts)[Count::requests];
    (*counts)[Count::prompt] += request.prompt;
    (*counts)[Count::hit] += std::min(request.matched, request.prompt);
  }
  bucket.histogram(Measure::prompt).add(request.prompt);
  if (request.matched > 0) bucket.histogram(Measure::depth).add(request.matched);
  RequestSpan span;
  span.id = request.id, span.tenant = row;
  span.prompt = request.prompt, span.matched = std::min(request.matched, request.prompt);
  span.missed = request.missed(mirror_->page_size());
  span.reason = static_cast<std::uint8_t>(reason_of(request));
  span.begun = moment(), span.evicted = mirror_->evicted_tokens();
  bucket.missed[static_cast<std::size_t>(Miss::rounding)] += request.rounding(mirror_->page_size());
  bucket.missed[span.reason] += span.missed;
  running_[span.id] = first_span_ + spans_.size();
  spans_.push_back(span);
  if (spans_.size() <= kMostSpans) return;
  if (!spans_.front().ended) running_.erase(spans_.front().id);
  spans_.pop_front();
  ++first_span_;
}

void History::progressed(const MirrorRequest& request) {
  const auto known = running_.find(request.id);
  if (known == running_.end()) return;
  RequestSpan& span = spans_[static_cast<std::size_t>(known->second - first_span_)];
  const HistoryMoment at = moment();
  if (!returned_.empty()) count_kept(now(), span.evicted);
  span.phase = request.phase;
  if (request.phase == RequestPhase::retracted) {
    span.retracted = at, span.resumed = {};
    ++span.retractions;
  } else if (span.retracted && !span.resumed) {
    span.resumed = at;
  }
  if (!span.started) span.started = at;
  if (!span.computed && request.computed >= request.prompt) span.computed = at;
  judge(span, request);
  if (!request.ended()) return;
  span.ended = at;
  running_.erase(known);
}

void History::named(TextKind text, std::size_t number) {
  if (text == TextKind::space) {
    if (const std::uint32_t row = row_of(NamespaceId{static_cast<std::uint32_t>(number)}))
      tenants_[row].name = mirror_->space_name(tenants_[row].space);
    return;
  }
  if (text != TextKind::worker || number >= mirror_->workers().size()) return;
  const WorkerLine line(mirror_->workers()[number]);
  if (servers_.size() <= number) servers_.resize(number + 1);
  // The first word of a state names it; the rest has figures.
  const std::string state(line.lost.empty() ? line.state.substr(0, line.state.find_first_of(" ,:")) : line.lost);
  const std::string before = std::exchange(servers_[number], state);
  if (before == state || (before.empty() && keyframe_)) return;
  add_mark(HistoryMark::Kind::server, std::string(line.name) + (before.empty() ? " came: " : ": ") + line.events());
}

void History::add_mark(HistoryMark::Kind kind, std::string text) {
  marks_.push_back({kind, moment(), std::move(text)});
  if (marks_.size() > kMostMarks) marks_.pop_front();
}

}  // namespace canopy::inspector
