// Events change the state only in whole commits: they wait in `pending_` until their Commit arrives, and lost()
// discards them. Before the first keyframe, and from a loss to the next keyframe, no commit is applied.

#include "mirror.h"

#include <algorithm>
#include <utility>

#include "apply.h"

namespace canopy::inspector {
namespace {

constexpr bool sizes_a_pool(const Event& event) {
  return is<event::PoolSized>(event) || is<event::SegmentChanged>(event);
}

/// Removes the mark. A tier below has no tier below it: with the mark, mirrors would nest without end.
Event unmarked(Event event) {
  event.group &= static_cast<std::uint8_t>(~kOfTierBelow);
  return event;
}

}  // namespace

Mirror::Mirror(const FeedShape& header) {
  state_.page_size = header.page_size;
  state_.has_words = header.tokens != 0;
  state_.has_overlap = header.overlap != 0;
  state_.pools.resize(header.groups);
  for (std::size_t g = 0; g < state_.pools.size(); ++g) state_.pools[g].reach = static_cast<Units>(header.reaches[g]);
}

void Mirror::take(std::span<const Event> events, MirrorWatcher* watcher) {
  while (!events.empty()) {
    const auto end = std::find_if(events.begin(), events.end(), is<event::Commit>);
    if (end == events.end()) {
      pending_.insert(pending_.end(), events.begin(), events.end());
      return;
    }
    const auto count = static_cast<std::size_t>(end - events.begin()) + 1;
    if (pending_.empty()) {
      take_commit(events.first(count), watcher);
    } else {
      pending_.insert(pending_.end(), events.begin(), end + 1);
      take_commit(pending_, watcher);
      pending_.clear();
    }
    events = events.subspan(count);
  }
}

void Mirror::lost() {
  for (Mirror& below : below_) below.lost();
  pending_.clear();
  state_.losses += std::exchange(in_step_, false);
}

void Mirror::reset() {
  forget();
  MirrorState fresh;
  fresh.page_size = state_.page_size;
  fresh.has_words = state_.has_words, fresh.has_overlap = state_.has_overlap;
  fresh.pools = std::move(state_.pools);
  fresh.spaces = std::move(state_.spaces);
  fresh.requests = std::move(state_.requests);
  fresh.requests.clear();
  fresh.config = std::move(state_.config);
  state_ = std::move(fresh);
  below_.clear();
  pending_.clear();
  in_step_ = listened_ = false;
}

void Mirror::take_commit(std::span<const Event> events, MirrorWatcher* watcher) {
  const bool keyframe = is<event::Keyframe>(events.front());
  // A keyframe that another reader requested reports only what is already known here.
  if (keyframe ? in_step_ : !in_step_) return;
  const auto end = std::bit_cast<event::Commit>(events.back());
  if (keyframe) {
    forget();
    begin_again(end);
    if (watcher) watcher->begin_again(state_.horizon.before == Miss::never_seen);
  }
  state_.now = {};
  state_.now.keyframe = keyframe;
  state_.now.line.operation = end.operation;
  state_.us = end.us;
  Apply apply(state_, watcher);
  if (!keyframe) apply.look_ahead(events);
  // A pool that grew did so before its new pages were handed out.
  for (const Event& event : events)
    if (sizes_a_pool(event)) apply.event(event);
  for (const Event& event : events)
    if (!sizes_a_pool(event)) apply.event(event);
  apply.settle_places();
  apply.settle_nodes();
  if (keyframe) {
    apply.settle_locks();
    in_step_ = true;
  }
  take_below(events, keyframe);
  commit(events.back());
  if (watcher) watcher->committed(state_.now.line);
}

/// Passes on the events that are marked with kOfTierBelow, as a commit of that tier. Its first commit is a keyframe.
void Mirror::take_below(std::span<const Event> events, bool keyframe) {
  pending_below_.clear();
  for (const Event& event : events) {
    if (!(event.group & kOfTierBelow) || !event::AllEvents::knows(event)) continue;
    pending_below_.push_back(unmarked(event));
  }
  if (below_.empty() && pending_below_.empty()) return;
  if (below_.empty()) {
    FeedShape shape;
    shape.page_size = page_size();
    shape.tokens = has_words();
    shape.groups = static_cast<std::uint32_t>(groups());
    for (std::size_t g = 0; g < groups(); ++g) shape.reaches[g] = state_.pools[g].reach;
    below_.emplace_back(shape);
  }
  if (keyframe) pending_below_.insert(pending_below_.begin(), unmarked(events.front()));
  auto end = std::bit_cast<event::Commit>(events.back());
  end.tick = 0;  // the tier's index has its own clock, which its nodes report
  pending_below_.push_back(std::bit_cast<Event>(end));
  Mirror& below = below_.front();
  const std::uint64_t had = below.state_.added_tokens, lost = below.state_.evicted_tokens;
  below.take(pending_below_);
  if (keyframe) return;
  state_.now.line.copied_below = below.state_.added_tokens - had;
  state_.now.line.evicted_below = below.state_.evicted_tokens - lost;
}

/// Begins with a keyframe. Earlier events are unknown, unless it is at the engine's first operation. Requests that it
/// does not report have ended meanwhile.
void Mirror::begin_again(const event::Commit& end) {
  const bool late = std::exchange(listened_, true);
  if (!late && end.operations <= 1) return;
  state_.horizon = {late ? Miss::lost_in_lap : Miss::before_attach, end.tick};
  for (MirrorRequest& request : state_.requests.all()) {
    if (request.ended()) continue;
    request.ended_at = state_.commits + 1;
    // Tokens that it inserted meanwhile may have been evicted before.
    if (request.rest == Miss::unknown || request.committed < request.reusable(state_.page_size))
      request.rest = Miss::lost_in_lap, request.rest_since = end.tick;
    if (request.missed_tokens == 0) request.miss = request.rest;
  }
}

/// Clears the tree and the pools, but keeps what was learned over time.
void Mirror::forget() {
  state_.nodes.clear();
  state_.node_count = 0;
  for (MirrorPool& pool : state_.pools) {
    pool.pages = 0;
    pool.counted = pool.reported = {};
    pool.waiting = 0;
    pool.owner.clear();
    pool.rank.clear();
    pool.segments.clear();
    pool.changes.forget(state_.commits + 1);
  }
  for (Space& space : state_.spaces) space.first_child = space.last_child = 0, space.tokens = space.nodes = 0;
  state_.tenants.forget_evictions();
  state_.first_pages.clear();
  state_.counters = {};
  state_.storage.clear();
  state_.health = {};
  state_.plugins.clear();
  state_.refusals.clear();
  state_.workers.clear();
  state_.paused.clear();
  state_.origin.clear();
  state_.no_nodes.clear();
  state_.pins.clear();
  for (MirrorRequest& request : state_.requests.all())
    if (!request.ended()) request.pages.clear();
  state_.running = 0;
}

void Mirror::commit(const Event& event) {
  const auto commit = std::bit_cast<event::Commit>(event);
  state_.reach(commit.tick);
  ++state_.commits;
  const auto apart = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
  for (MirrorPool& pool : state_.pools) {
    if (pool.callers.pages == 0) continue;
    const std::uint64_t others = pool.callers.free + pool.counted.evictable + pool.counted.protected_;
    pool.counted.free = pool.callers.free;
    pool.counted.owned = pool.callers.pages - std::min(pool.callers.pages, others);
  }
  if (state_.now.totalled) {
    state_.drift = 0;
    if (!state_.no_nodes.empty())  // no counts of its own to compare
      for (MirrorPool& pool : state_.pools) pool.counted = pool.reported;
    for (const MirrorPool& pool : state_.pools)
      state_.drift +=
          apart(pool.counted.free, pool.reported.free) + apart(pool.counted.evictable, pool.reported.evictable) +
          apart(pool.counted.protected_, pool.reported.protected_) + apart(pool.counted.owned, pool.reported.owned);
    for (const Mirror& below : below_) state_.drift += below.drift();
    state_.most_drift = std::max(state_.most_drift, state_.drift);
  }
  bool harmed = state_.damaged > 0 || state_.most_drift > 0;
  for (const Mirror& below : below_) harmed |= below.damaged() > 0 || below.state_.most_drift > 0;
  if (harmed && state_.first_damage == 0) state_.first_damage = state_.commits;
  LogLine& line = state_.now.line;
  line.commit = state_.commits;
  state_.past.add(line);
  if (state_.past.wants_sample(state_.commits)) state_.past.add(sample());
}

Sample Mirror::sample() const {
  Sample sample;
  sample.commit = state_.commits, sample.us = state_.us, sample.tick = state_.tick;
  for (std::size_t g = 0; g < groups(); ++g)
    sample.pools[g] = state_.pools[g].counted, sample.limits[g] = state_.pools[g].limit;
  sample.prompt_tokens = state_.prompt_tokens, sample.hit_tokens = state_.hit_tokens;
  sample.evicted_tokens = state_.evicted_tokens;
  sample.requests = state_.request_count, sample.running = state_.running;
  return sample;
}

std::size_t Mirror::bytes() const {
  constexpr std::size_t kEntry = 64;  // an entry of a hash table, with its key
  std::size_t bytes = state_.nodes.size() * sizeof(MirrorNode) + state_.node_count * 2 * sizeof(PageRun);
  for (const MirrorPool& pool : state_.pools)
    bytes += pool.owner.size() * sizeof(std::int64_t) + pool.rank.size() * sizeof(Rank) +
             pool.changes.list.size() * sizeof(pool.changes.list[0]);
  bytes += requests().size() * (sizeof(MirrorRequest) + kEntry);
  bytes += state_.tenants.all.size() * sizeof(MirrorTenant) + state_.tenants.payments.size() * kEntry;
  if (has_words())
    for (const auto& space : state_.spaces) bytes += static_cast<std::size_t>(space.tokens) * sizeof(std::uint32_t);
  for (const Mirror& below : below_) bytes += below.bytes();
  return bytes + state_.past.bytes() + state_.first_pages.size() * kEntry;
}

}  // namespace canopy::inspector
