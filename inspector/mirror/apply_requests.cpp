// `running`, `prompt_tokens`, `hit_tokens` and MirrorNode::matches count requests of clients only, never a fetch; all
// but `running` from their admission on. A request that was admitted before a keyframe counts only as running, unless
// nothing was before the keyframe. The reason of a miss is looked for only while it is unknown.

#include <algorithm>

#include "apply.h"

namespace canopy::inspector {
namespace {

constexpr bool ends(RequestPhase phase) { return phase == RequestPhase::finished || phase == RequestPhase::aborted; }

}  // namespace

void Apply::operator()(const event::RequestBegun& begun) {
  if (static_cast<std::uint32_t>(begun.space) >= kMostSpaces) return;
  state_.requests.forget_old();
  MirrorRequest* known = state_.requests.find(begun.request);
  const bool again = known != nullptr;  // a keyframe reports a request that is already known
  MirrorRequest& request = again ? *known : state_.requests.add(begun.request);
  request.prompt = begun.prompt;
  // A keyframe reports the latest match: after a retraction, that is not the one that counts.
  if (!request.admitted()) request.matched = begun.matched;
  request.space = begun.space;
  request.fetch = begun.fetch;
  request.pages.clear();
  if (!again) request.begun_at = state_.commits + 1, request.begun_us = state_.now.keyframe ? 0 : state_.us;
  request.ended_at = 0;
  request.last_node = begun.node == NodeId{} ? state_.now.locked_node : static_cast<std::uint64_t>(begun.node);
  request.known = request.prompt;
  request.computed = request.committed = request.matched;
  state_.now.line.request = request.id;
  if (request.fetch) {
    request.miss = request.rest = Miss::none;
    state_.now.line.fetch = true;
    return;
  }
  if (state_.now.keyframe && request.rest == Miss::unknown) not_known(request);
  if (request.rest == Miss::unknown && request.matched >= request.reusable(state_.page_size))
    request.rest = Miss::rounding;
  if (request.miss == Miss::unknown) request.miss = request.rest;
  state_.requests.recall(request);
  ++state_.running;
  const bool late = state_.now.keyframe && state_.horizon.before != Miss::never_seen;
  if (!again && !late && begun.node != NodeId{} && request.matched > 0) {
    state_.any_hit = true;
    if (!state_.any_use) use(request.last_node);  // else the match has reported it
  }
  if (!again) {
    if (!late || begun.waits) state_.work += request.prompt;
    if (!state_.now.keyframe) count_work(request.last_node);
    if (watcher_ && !state_.now.keyframe) watcher_->begun(request);
  }
  if (begun.waits || request.admitted()) return;
  if (late) request.admitted_at = state_.commits + 1;
  else admit(request);
}

void Apply::operator()(const event::RequestAdmitted& admitted) {
  MirrorRequest* const request = state_.requests.find(admitted.request);
  if (!request || request->fetch || request->admitted() || request->ended()) return;
  request->matched = admitted.matched;
  const bool open = request->miss == request->rest;  // nothing of it is known to have been evicted
  // The match may be another one by now.
  if (request->rest == Miss::unknown || request->rest == Miss::rounding)
    request->rest = request->matched >= request->reusable(state_.page_size) ? Miss::rounding : Miss::unknown;
  if (open) request->miss = request->rest;
  state_.requests.recall(*request);
  state_.now.line.request = request->id;
  admit(*request);
}

/// Counts a request, with the match that it has now.
void Apply::admit(MirrorRequest& request) {
  request.admitted_at = state_.commits + 1;
  ++state_.request_count;
  state_.prompt_tokens += request.prompt;
  state_.hit_tokens += request.matched;
  count_tenant(request);
  if (state_.now.keyframe) return;
  if (request.matched > 0) count_match(request.last_node);
  if (watcher_) watcher_->admitted(request);
}

/// Sets the time of the last use in requested work: its user's own prompt did not come after it.
void Apply::count_work(std::uint64_t node) {
  if (!state_.find(node)) return;
  for (std::uint32_t at = slot_of(NodeId{node}); at; at = state_.nodes[at].parent) {
    MirrorNode& covered = state_.nodes[at];
    covered.used_work = state_.work;
    for (NodePart& part : covered.parts) part.used_work = state_.work;
  }
}

/// Counts a match that ended with this node. The lock of a match is reported before its request.
void Apply::count_match(std::uint64_t node) {
  if (!state_.find(node)) return;
  for (std::uint32_t at = slot_of(NodeId{node}); at; at = state_.nodes[at].parent) {
    ++state_.nodes[at].matches;
    if (watcher_) watcher_->matched(state_.nodes[at]);
  }
}

void Apply::operator()(const event::RequestProgress& progress) {
  MirrorRequest* found = state_.requests.find(progress.request);
  if (!found) return;
  MirrorRequest& request = *found;
  state_.now.line.request = request.id;
  state_.now.line.fetch = request.fetch;
  settle_nodes();
  if (!request.fetch && !request.recalled && !state_.now.returned.empty()) add_returned(request);
  request.computed = progress.computed;
  request.known = progress.tokens;
  if (ends(progress.phase)) {
    if (!request.ended() && !request.fetch) {
      --state_.running;
      if (!request.admitted()) {
        ++state_.tries;
        state_.work -= std::min<std::uint64_t>(state_.work, request.prompt);
      }
    }
    request.phase = progress.phase;
    request.ended_at = state_.commits + 1;
    request.ended_us = state_.us;
    request.pages.clear();
    if (watcher_ && !state_.now.keyframe && !request.fetch) watcher_->progressed(request);
    return;
  }
  request.committed = progress.committed;
  if (progress.phase == RequestPhase::retracted) ++request.retractions, request.pages.clear();
  // Committed pages belong to the index.
  const std::uint32_t own_from = request.committed / state_.page_size;
  std::erase_if(request.pages, [&](const PageRun& run) { return run.place + run.count <= own_from; });
  for (PageRun& run : request.pages)
    if (run.place < own_from) {
      run.first += own_from - run.place;
      run.count -= own_from - run.place;
      run.place = own_from;
    }
  if (state_.now.locked_node) request.last_node = state_.now.locked_node;
  request.phase = progress.phase;
  // Tokens that it adds later were not inserted by another request meanwhile.
  const bool open = request.rest == Miss::unknown || (request.rest == Miss::none && state_.now.line.added > 0);
  if (progress.phase == RequestPhase::committed && open && !request.recalled) find_reason(request);
  if (watcher_ && !state_.now.keyframe && !request.fetch) watcher_->progressed(request);
}

/// Sets the reason to "not known", unless the mirror has seen everything from the beginning: an eviction that it did
/// not see may explain the miss.
void Apply::not_known(MirrorRequest& request) const {
  if (state_.horizon.before == Miss::never_seen) return;
  request.rest = state_.horizon.before;
  request.rest_since = state_.horizon.tick;
}

/// Finds the reason after the request's first insert: the insert's effect on the tree shows why the match found no more
/// than it did.
void Apply::find_reason(MirrorRequest& request) {
  const CommitSoFar& now = state_.now;
  if (!state_.no_nodes.empty()) {
    request.rest = Miss::no_nodes;
  } else if (now.filled != CommitSoFar::Filled::nothing) {
    request.rest = now.filled == CommitSoFar::Filled::lost ? Miss::tombstone : Miss::never_kept;
    // The tokens that it added below may have been evicted before.
    if (now.filled == CommitSoFar::Filled::not_known || now.line.added > 0) not_known(request);
  } else if (now.line.added > 0) {
    request.rest = Miss::never_seen;
    if (const auto same = state_.first_pages.find(now.fresh_digest);
        now.fresh_digest && same != state_.first_pages.end())
      for (const NamespaceId space : same->second)
        if (space != now.fresh_space) request.rest = Miss::other_space, request.missed_space = space;
    not_known(request);  // they may have been here as well
  } else {
    request.rest = Miss::none;
  }
  if (request.missed_tokens == 0) request.miss = request.rest;
  state_.requests.keep_verdict(request);
}

/// Adds the part of its prompt that this commit brought back. After a retraction, its own pages come back.
void Apply::add_returned(MirrorRequest& request) {
  if (request.retractions > 0 && request.rest != Miss::unknown) return;
  const std::uint64_t from = request.matched, until = request.reusable(state_.page_size);
  for (CommitSoFar& now = state_.now; now.judged < now.returned.size(); ++now.judged) {
    const Returned& part = now.returned[now.judged];
    const std::uint64_t first = std::max<std::uint64_t>(part.begin, from),
                        end = std::min(std::uint64_t{part.begin} + part.length, until);
    if (first >= end) continue;
    const bool flushed = part.operation == Operation::flush;
    if (request.missed_tokens == 0 || (!flushed && request.missed_tokens == request.flushed_tokens)) {
      request.miss = Miss::evicted;
      request.missed_since = part.tick, request.missed_policy = part.policy;
    }
    request.missed_tokens += static_cast<Units>(end - first);
    if (flushed) request.flushed_tokens += static_cast<Units>(end - first);
    state_.requests.keep_verdict(request);
  }
}

}  // namespace canopy::inspector
