#include "tally.h"

#include <algorithm>
#include <utility>

namespace canopy::metrics {
namespace {

using inspector::kTimeNotKnown;
using inspector::MirrorNode;
using inspector::MirrorPool;
using inspector::MirrorRequest;
using inspector::Miss;

/// Returns the time between two moments. A clock that another process has overwritten may run backwards.
constexpr std::uint64_t since(std::uint64_t then, std::uint64_t now) { return now > then ? now - then : 0; }
double seconds_since(std::uint64_t then, std::uint64_t now) { return static_cast<double>(since(then, now)) / 1e6; }

}  // namespace

Tally::Tally(std::string feed, std::size_t tenants) : feed_(std::move(feed)), tenants_(tenants), shares_(tenants) {
  // A reason that did not occur is known to be 0.
  for (const inspector::MissInfo& miss : inspector::kMisses) counts_.missed_tokens[miss.label] = 0;
}

void Tally::attach(const FeedShape& header) {
  mirror_.emplace(header);
  process_ = header.pid;
  commits_before_ = 0;
  ++counts_.attached;
  begin_again(false);
}

void Tally::take(std::span<const Event> events) {
  if (!mirror_) return;
  // Counting begins with the figures of the keyframe.
  while (!in_step() && !events.empty()) {
    const auto end = std::find_if(events.begin(), events.end(), is<event::Commit>);
    const auto count = static_cast<std::size_t>(end - events.begin()) + (end != events.end());
    mirror_->take(events.first(count), this);
    events = events.subspan(count);
    if (in_step()) tiers_at_step_ = mirror_->counters();
  }
  mirror_->take(events, this);
  has_host_ |= in_step() && mirror_->has_host();
  has_storage_ |= in_step() && !mirror_->storage().empty();
  counts_.operations += mirror_->commits() - commits_before_;
  commits_before_ = mirror_->commits();
  if (!mirror_->in_step()) return;
  ever_in_step_ = true;
  shares_.choose(*mirror_);
  from_events_ = mirror_->is_from_events();
  no_nodes_ = !mirror_->no_nodes().empty();
  for (std::size_t g = 0; g < mirror_->groups(); ++g) counts_.leaving[mirror_->pool(g).name];
}

void Tally::lost() {
  tiers_ = tiers();
  ++counts_.laps;
  if (mirror_) mirror_->lost();
}

void Tally::detach() {
  tiers_ = tiers();
  mirror_.reset();
  begin_again(false);
}

void Tally::begin_again(bool) {
  tree_tokens_ = 0;
  ends_.clear();
  live_.clear();
  tenants_.forget_numbers();
}

void Tally::added(const MirrorNode& node) {
  tree_tokens_ += node.length;
  ++ends_[node.end()];
  tenants_.see(*mirror_, node.space);
  if (node.added_us != kTimeNotKnown) counts_.inserted_tokens += node.length;
}

void Tally::split(const MirrorNode& upper) { ++ends_[upper.end()]; }

void Tally::used(const MirrorNode& node) {
  if (node.used_us == kTimeNotKnown || !node.has(0)) return;
  counts_.reuse_gap_s.add(seconds_since(node.used_us, mirror_->us()), pages(node));
  counts_.reuse_distance.add(static_cast<double>(since(node.used_work, mirror_->prompt_tokens())), pages(node));
}

void Tally::left(const MirrorNode& node, std::size_t group, Operation operation) {
  LeavingCounts& counts = counts_.leaving[mirror_->pool(group).name];
  if (operation == Operation::flush) {
    counts.flushed_tokens += node.length;
    return;
  }
  counts.evicted_tokens += node.length;
  if (node.added_us != kTimeNotKnown) counts.lifetime_s.add(seconds_since(node.added_us, mirror_->us()), pages(node));
  if (node.used_us == kTimeNotKnown) return;
  counts.idle_s.add(seconds_since(node.used_us, mirror_->us()), pages(node));
  counts.idle_work.add(static_cast<double>(since(node.used_work, mirror_->prompt_tokens())), pages(node));
}

void Tally::removed(const MirrorNode& node) {
  tree_tokens_ -= std::min<std::uint64_t>(tree_tokens_, node.length);
  const auto end = ends_.find(node.end());
  if (end != ends_.end() && --end->second == 0) ends_.erase(end);
}

void Tally::begun(const MirrorRequest& request) {
  tenants_.count(*mirror_, request);
  auto& [prompt, hit] = last_[requests_++ % last_.size()];
  last_prompt_ += std::uint64_t{request.prompt} - prompt;
  last_hit_ += std::uint64_t{request.matched} - hit;
  prompt = request.prompt, hit = request.matched;
  if (const std::uint32_t rest = request.rounding(mirror_->page_size()))
    counts_.missed_tokens[info_of(Miss::rounding).label] += rest;
  live_[request.id] = {request.prompt, request.matched, request.miss == Miss::rounding};
}

void Tally::progressed(const MirrorRequest& request) {
  const auto found = live_.find(request.id);
  if (request.phase == RequestPhase::finished) ++counts_.finished;
  else if (request.phase == RequestPhase::aborted) ++counts_.aborted;
  else if (request.phase == RequestPhase::retracted) ++counts_.retracted;
  if (found == live_.end()) return;
  Live& live = found->second;
  if (!live.judged && (request.miss != Miss::unknown || request.ended())) {
    live.judged = true;
    if (const std::uint32_t missed = request.missed(mirror_->page_size()))
      counts_.missed_tokens[info_of(request.miss).label] += missed;
  }
  if (!request.ended()) return;
  if (request.phase == RequestPhase::finished) {
    counts_.prompt_tokens.add(live.prompt);
    counts_.computed_tokens.add(live.prompt - std::min(live.prompt, live.matched));
  }
  live_.erase(found);
}

/// Returns the totals counted before, plus what has happened since the mirror came into step; for gauges, the present
/// values.
CounterValues Tally::tiers() const {
  if (!in_step()) return tiers_;
  CounterValues sum = mirror_->counters();
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    std::uint64_t& value = sum.at(counter, row, column);
    if (info.kind != CounterKind::gauge)
      value = tiers_.at(counter, row, column) + since(tiers_at_step_.at(counter, row, column), value);
  });
  return sum;
}

Moment Tally::moment() const {
  Moment now;
  now.page_size = mirror_->page_size();
  now.process = process_;
  now.nodes = mirror_->node_count();
  now.namespaces = mirror_->spaces().size();
  now.depth = ends_.empty() ? 0 : ends_.rbegin()->first;
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

Figures Tally::figures() const {
  Figures figures;
  figures.feed = feed_;
  figures.from_events = from_events_;
  figures.no_nodes = no_nodes_;
  figures.attached = mirror_.has_value();
  if (in_step()) figures.now = moment();
  if (ever_in_step_) figures.counts = counts_;
  figures.host = has_host_, figures.storage = has_storage_;
  figures.tiers = tiers();
  if (last_prompt_ > 0) figures.hit_rate = static_cast<double>(last_hit_) / static_cast<double>(last_prompt_);
  figures.tenants = tenants_.figures(in_step() ? &*mirror_ : nullptr, tree_tokens_);
  if (in_step()) figures.shares = shares_.figures(*mirror_);
  return figures;
}

}  // namespace canopy::metrics
