/// Functions that follow requests and texts.
#include <mirror/feed_lines.h>

#include <algorithm>
#include <utility>

#include "history.h"

namespace canopy::inspector {

/// Counts the time since the last call for the requests that had locks in it.
void History::pass_time() {
  if (totals_) return;  // an exporter has no such figure
  const std::uint64_t now_us = mirror_->us(), before = std::exchange(passed_us_, now_us);
  if (now_us <= before) return;  // a clock that another process has overwritten may run backwards
  Bucket& bucket = bucket_for(last_.commit + 1);
  for (const auto& [row, requests] : locks_) bucket.tenant(row).locked_us += (now_us - before) * requests;
}

void History::follow_locks(const MirrorRequest& request) {
  if (totals_) return;
  pass_time();
  const auto known = locking_.find(request.id);
  const bool has = !request.ended() && request.phase != RequestPhase::retracted;
  if (has == (known != locking_.end())) return;
  if (has) {
    const std::uint32_t row = see(request.space);
    locking_.emplace(request.id, row), ++locks_[row];
    return;
  }
  if (const auto of = locks_.find(known->second); --of->second == 0) locks_.erase(of);
  locking_.erase(known);
}

/// Begins with the requests that have locks now.
void History::count_locks() {
  locking_.clear(), locks_.clear();
  for (const MirrorRequest& request : mirror_->requests())
    if (!request.fetch) follow_locks(request);
}

void History::begun(const MirrorRequest& request) {
  follow_locks(request);
  const std::uint32_t row = see(request.space);
  running_[request.id] = {.span = first_span_ + spans_.size(), .evicted = mirror_->evicted_tokens(), .row = row};
  if (most_spans_ == 0) return;
  RequestSpan& span = spans_.emplace_back();
  span.id = request.id, span.tenant = row;
  span.prompt = request.prompt, span.matched = std::min(request.matched, request.prompt);
  span.begun = moment();
  if (spans_.size() <= most_spans_) return;
  spans_.pop_front();
  ++first_span_;
}

/// Returns the span of a request, or null if it is not kept.
RequestSpan* History::span_of(const Running& running) {
  if (running.span < first_span_ || running.span - first_span_ >= spans_.size()) return nullptr;
  return &spans_[static_cast<std::size_t>(running.span - first_span_)];
}

void History::admitted(const MirrorRequest& request) {
  if (!running_.contains(request.id)) begun(request);  // it waited when this reader came
  Bucket& bucket = now();
  const std::uint32_t row = see(request.space), matched = std::min(request.matched, request.prompt);
  for (Counts* counts : {&bucket.counts, &bucket.of(row)}) {
    ++(*counts)[Count::requests];
    (*counts)[Count::prompt] += request.prompt;
    (*counts)[Count::hit] += matched;
  }
  bucket.histogram(Measure::prompt).add(request.prompt);
  if (request.matched > 0) bucket.histogram(Measure::depth).add(request.matched);
  const std::uint32_t missed = request.missed(mirror_->page_size());
  const std::uint32_t rounding = request.rounding(mirror_->page_size());
  bucket.missed[static_cast<std::size_t>(Miss::rounding)] += rounding;
  if (!totals_) bucket.missed_of(row, static_cast<std::uint32_t>(Miss::rounding)) += rounding;
  last_page_matched_ |= request.matched > request.reusable(mirror_->page_size());
  if (totals_) recent_.add(request.prompt, matched), totals_->admitted_hits.add(moment().commit, matched);
  Running& running = running_[request.id];
  running.admitted = moment().commit;
  running.prompt = request.prompt, running.matched = matched, running.missed = missed;
  running.verdict = counted(running, request);
  running.judged = missed == 0 || request.recalled;
  count_missed(running, true);
  RequestSpan* const span = span_of(running);
  if (!span) return;
  span->matched = matched, span->missed = missed, span->admitted = moment();
  show_reasons(*span, running);
}

/// Counts a request that ended before it was admitted, and drops its span.
void History::forget_try(const MirrorRequest& request) {
  Bucket& bucket = now();
  for (Counts* counts : {&bucket.counts, &bucket.of(see(request.space))}) ++(*counts)[Count::tries];
  const auto known = running_.find(request.id);
  if (known == running_.end()) return;
  const std::uint64_t number = known->second.span;
  const bool kept = span_of(known->second) != nullptr;
  running_.erase(known);
  if (!kept) return;
  spans_.erase(spans_.begin() + static_cast<std::ptrdiff_t>(number - first_span_));
  for (auto& [id, other] : running_) other.span -= other.span > number;
}

void History::show_reasons(RequestSpan& span, const Running& running) {
  const Counted& verdict = running.verdict;
  span.reason = verdict.rest, span.rest = verdict.rest, span.evicted_part = verdict.evicted;
  if (verdict.evicted > verdict.flushed) span.reason = static_cast<std::uint8_t>(Miss::evicted);
  else if (verdict.flushed > 0) span.reason = kFlushedReason;
}

History::Counted History::counted(const Running& running, const MirrorRequest& request) const {
  const std::uint32_t evicted = std::min(running.missed, request.missed_evicted(mirror_->page_size()));
  return {.evicted = evicted,
          .flushed = std::min(evicted, request.missed_flushed(mirror_->page_size())),
          .rest = static_cast<std::uint8_t>(request.rest)};
}

/// Calls `add` with each reason of the missed tokens and its tokens.
template <class Add>
void History::each_reason(const Running& running, Add&& add) {
  const Counted& verdict = running.verdict;
  if (verdict.flushed > 0) add(kFlushedReason, verdict.flushed);
  if (verdict.evicted > verdict.flushed)
    add(static_cast<std::size_t>(Miss::evicted), verdict.evicted - verdict.flushed);
  if (running.missed > verdict.evicted) add(std::size_t{verdict.rest}, running.missed - verdict.evicted);
}

/// Adds the missed tokens under their reasons to the bucket in which the request was admitted, or takes them out.
void History::count_missed(const Running& running, bool in) {
  Bucket* const bucket = bucket_of(running.admitted);
  each_reason(running, [&](std::size_t reason, std::uint64_t tokens) {
    const std::uint64_t change = in ? tokens : 0 - tokens;
    if (bucket) bucket->missed[reason] += change;
    if (bucket && !totals_) bucket->missed_of(running.row, static_cast<std::uint32_t>(reason)) += change;
    if (!running.judged) not_judged_[reason] += change;
  });
}

/// Counts the missed tokens under the request's reasons.
void History::judge(Running& running, const MirrorRequest& request) {
  const Counted verdict = counted(running, request);
  const bool judged = running.judged || request.ended() || request.committed >= request.reusable(mirror_->page_size());
  if (verdict == running.verdict && judged == running.judged) return;
  count_missed(running, false);
  running.verdict = verdict, running.judged = judged;
  count_missed(running, true);
}

std::array<std::uint64_t, kReasons> History::final_misses() const {
  if (buckets_.empty()) return {};
  std::array<std::uint64_t, kReasons> misses = buckets_.front().missed;
  for (std::size_t reason = 0; reason < kReasons; ++reason) misses[reason] -= not_judged_[reason];
  return misses;
}

void History::follow(RequestSpan& span, const MirrorRequest& request) const {
  const HistoryMoment at = moment();
  span.phase = request.phase;
  if (request.phase == RequestPhase::retracted) {
    span.retracted = at, span.resumed = {};
    ++span.retractions;
  } else if (span.retracted && !span.resumed) {
    span.resumed = at;
  }
  if (!span.started) span.started = at;
  if (!span.computed && request.computed >= request.prompt) span.computed = at;
  if (request.ended()) span.ended = at;
}

void History::progressed(const MirrorRequest& request) {
  follow_locks(request);
  if (request.ended() && !request.admitted()) return forget_try(request);
  const bool finished = request.phase == RequestPhase::finished;
  if (totals_) {
    totals_->finished += finished;
    totals_->aborted += request.phase == RequestPhase::aborted;
    totals_->retracted += request.phase == RequestPhase::retracted;
  }
  const auto known = running_.find(request.id);
  if (known == running_.end()) return;
  Running& running = known->second;
  if (!returned_.empty()) count_kept(now(), running.evicted, &request);
  if (request.admitted()) judge(running, request);
  if (RequestSpan* span = span_of(running)) {
    show_reasons(*span, running);
    follow(*span, request);
  }
  if (!request.ended()) return;
  if (totals_ && finished) {
    totals_->prompt_tokens.add(running.prompt);
    totals_->computed_tokens.add(running.prompt - running.matched);
  }
  running_.erase(known);
}

void History::named(TextKind text, std::size_t number) {
  // Counts of a group that nothing has left are known to be 0.
  if (text == TextKind::group && totals_ && number < mirror_->groups()) totals_->leaving[mirror_->pool(number).name];
  if (text == TextKind::space) {
    const std::uint32_t row = row_of(NamespaceId{static_cast<std::uint32_t>(number)});
    if (row == 0) return;
    const std::string name = mirror_->space_name(tenants_[row].space);
    // Sums are labelled by the name: no two rows have the same one.
    if (!totals_ || std::ranges::find(tenants_, name, &Tenant::name) == tenants_.end()) tenants_[row].name = name;
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
