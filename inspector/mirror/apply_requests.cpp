// `running`, `prompt_tokens`, `hit_tokens` and MirrorNode::matches count requests of clients only, never a fetch; all
// but `running` from their admission on. A known request that a keyframe reports again counts only as running, unless
// it was admitted meanwhile. The reason of a miss is looked for only while it is unknown.

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
    request.miss = Miss::none;
    state_.now.line.fetch = true;
    return;
  }
  if (state_.now.keyframe && request.miss == Miss::unknown) not_known(request);
  if (request.miss == Miss::unknown && request.matched >= request.reusable(state_.page_size))
    request.miss = Miss::rounding;
  state_.requests.recall(request);
  ++state_.running;
  if (!again && begun.node != NodeId{} && request.matched > 0) {
    state_.any_hit = true;
    if (!state_.any_use) use(request.last_node);  // else the match has reported it
  }
  if (!again) {
    state_.work += request.prompt;
    if (watcher_ && !state_.now.keyframe) watcher_->begun(request);
  }
  if (!begun.waits && !request.admitted()) admit(request);
}

void Apply::operator()(const event::RequestAdmitted& admitted) {
  MirrorRequest* const request = state_.requests.find(admitted.request);
  if (!request || request->fetch || request->admitted() || request->ended()) return;
  request->matched = admitted.matched;
  if (request->miss == Miss::unknown || request->miss == Miss::rounding)  // the match may be another one by now
    request->miss = request->matched >= request->reusable(state_.page_size) ? Miss::rounding : Miss::unknown;
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
  if (progress.phase == RequestPhase::committed && request.miss == Miss::unknown) find_reason(request);
  if (watcher_ && !state_.now.keyframe && !request.fetch) watcher_->progressed(request);
}

/// Sets the reason to "not known", unless the mirror has seen everything from the beginning: an eviction that it did
/// not see may explain the miss.
void Apply::not_known(MirrorRequest& request) const {
  if (state_.horizon.before == Miss::never_seen) return;
  request.miss = state_.horizon.before;
  request.missed_since = state_.horizon.tick;
}

/// Finds the reason after the request's first insert: the insert's effect on the tree shows why the match found no more
/// than it did.
void Apply::find_reason(MirrorRequest& request) {
  const CommitSoFar& now = state_.now;
  if (!state_.no_nodes.empty()) {
    request.miss = Miss::no_nodes;
  } else if (now.revived.id) {
    request.miss = Miss::evicted;
    request.missed_since = now.revived.evicted_at;
    request.missed_tokens = now.revived.length;
    request.missed_policy = now.revived.policy;
  } else if (now.filled != CommitSoFar::Filled::nothing) {
    request.miss = now.filled == CommitSoFar::Filled::lost ? Miss::tombstone : Miss::never_kept;
    // The tokens that it added below may have been evicted before.
    if (now.filled == CommitSoFar::Filled::not_known || now.line.added > 0) not_known(request);
  } else if (now.line.added > 0) {
    request.miss = Miss::never_seen;
    if (const auto same = state_.first_pages.find(now.fresh_digest);
        now.fresh_digest && same != state_.first_pages.end())
      for (const NamespaceId space : same->second)
        if (space != now.fresh_space) request.miss = Miss::other_space, request.missed_space = space;
    not_known(request);  // they may have been here as well
  } else {
    request.miss = Miss::none;
  }
  state_.requests.keep_verdict(request);
}

}  // namespace canopy::inspector
