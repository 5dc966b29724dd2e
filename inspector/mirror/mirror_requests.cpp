#include <canopy/support/figures.h>

#include <algorithm>
#include <tuple>

#include "mirror.h"

namespace canopy::inspector {
namespace {

constexpr std::size_t kRequestsKept = 32768;

constexpr bool ends(RequestPhase phase) { return phase == RequestPhase::finished || phase == RequestPhase::aborted; }

}  // namespace

MirrorRequest* Mirror::find_request(std::uint64_t id) {
  const auto found = request_places_.find(id);
  return found == request_places_.end() ? nullptr : &requests_[found->second];
}

const MirrorRequest* Mirror::request(std::uint64_t id) const { return const_cast<Mirror*>(this)->find_request(id); }

void Mirror::begin_request(const Event& event) {
  if (requests_.size() >= kRequestsKept) {
    std::size_t over = kRequestsKept / 2;
    std::erase_if(requests_, [&](const MirrorRequest& one) { return one.ended() && over > 0 && over--; });
    request_places_.clear();
    for (std::size_t i = 0; i < requests_.size(); ++i) request_places_[requests_[i].id] = i;
  }
  MirrorRequest* known = find_request(event.node);
  const bool again = known != nullptr;  // a keyframe tells of one that was known before
  if (!again) {
    request_places_[event.node] = requests_.size();
    known = &requests_.emplace_back();
  }
  MirrorRequest& request = *known;
  request.id = event.node;
  request.prompt = event.extra;
  request.matched = static_cast<std::uint32_t>(event.a);
  request.space = static_cast<NamespaceId>(event.a >> 32);
  request.pages.clear();
  if (!again) request.begun_at = commits_ + 1, request.begun_us = us_;
  request.ended_at = 0;
  request.last_node = locked_node_;
  request.known = request.prompt;
  request.computed = request.committed = request.matched;
  if (request.matched >= reusable(request)) request.miss = Miss::rounding;
  if (learned_)
    if (const auto known_before = learned_->find(request.id); known_before != learned_->end())
      static_cast<Verdict&>(request) = known_before->second;
  ++running_;
  line_.request = request.id;
  if (again) return;
  ++request_count_;
  prompt_tokens_ += request.prompt;
  hit_tokens_ += request.matched;
}

void Mirror::move_request(const Event& event) {
  MirrorRequest* found = find_request(event.node);
  if (!found) return;
  MirrorRequest& request = *found;
  const auto phase = static_cast<RequestPhase>(event.flags);
  line_.request = request.id;
  request.computed = event.extra;
  request.known = static_cast<std::uint32_t>(event.b);
  if (ends(phase)) {
    if (!request.ended()) --running_;
    request.phase = phase;
    request.ended_at = commits_ + 1;
    request.ended_us = us_;
    request.pages.clear();
    return;
  }
  request.committed = static_cast<std::uint32_t>(event.a);
  if (phase == RequestPhase::retracted) ++request.retractions, request.pages.clear();
  // What is committed is the tree's.
  const std::uint32_t own_from = request.committed / page_size_;
  std::erase_if(request.pages, [&](const PageRun& run) { return run.place + run.count <= own_from; });
  for (PageRun& run : request.pages)
    if (run.place < own_from) {
      run.first += own_from - run.place;
      run.count -= own_from - run.place;
      run.place = own_from;
    }
  if (locked_node_) request.last_node = locked_node_;
  request.phase = phase;
  if (phase != RequestPhase::committed || request.miss != Miss::unknown) return;
  if (revived_.id) {
    request.miss = Miss::evicted;
    request.missed_since = revived_.left;
    request.missed_tokens = revived_.length;
    request.missed_policy = revived_.policy;
  } else if (filled_) {
    request.miss = Miss::gap;
  } else if (line_.added > 0) {
    request.miss = Miss::never_seen;
    if (const auto same = first_pages_.find(fresh_digest_); fresh_digest_ && same != first_pages_.end())
      for (const NamespaceId space : same->second)
        if (space != fresh_space_) request.miss = Miss::other_space, request.missed_space = space;
  } else {
    request.miss = Miss::none;
  }
  if (learned_) (*learned_)[request.id] = request;
}

std::string reason_words(const MissGroup& group) {
  switch (group.miss) {
    case Miss::unknown:
      return "not known yet";
    case Miss::none:
      return "brought meanwhile";
    case Miss::never_seen:
      return "never seen";
    case Miss::evicted:
      return "evicted by " + group.policy;
    case Miss::other_space:
      return "other namespace";
    case Miss::gap:
      return "window gap";
    case Miss::rounding:
      return "page rounding";
  }
  return {};
}

std::vector<MissGroup> Mirror::misses(std::optional<NamespaceId> space) const {
  std::vector<MissGroup> groups;
  const auto add = [&](Miss miss, const std::string& policy, std::uint64_t tokens) {
    if (tokens == 0) return;
    auto at = std::find_if(groups.begin(), groups.end(),
                           [&](const MissGroup& one) { return one.miss == miss && one.policy == policy; });
    if (at == groups.end()) at = groups.insert(at, {miss, policy, 0, 0});
    ++at->requests;
    at->tokens += tokens;
  };
  for (const MirrorRequest& request : requests_) {
    if (space && request.space != *space) continue;
    const std::uint32_t most = reusable(request);
    add(Miss::rounding, {}, request.prompt - std::max(most, std::min(request.matched, request.prompt)));
    if (request.matched < most) add(request.miss, request.missed_policy, most - request.matched);
  }
  std::sort(groups.begin(), groups.end(), [](const MissGroup& a, const MissGroup& b) {
    return std::tie(b.tokens, a.miss, a.policy) < std::tie(a.tokens, b.miss, b.policy);
  });
  return groups;
}

std::string Mirror::why_missed(const MirrorRequest& request) const {
  switch (request.miss) {
    case Miss::unknown:
      return request.ended() ? "it ended before it inserted anything" : "not known before it inserts something";
    case Miss::none:
      return "another request brought the rest while this one computed it";
    case Miss::never_seen:
      return "nobody brought such a continuation before";
    case Miss::evicted:
      return "evicted at tick " + grouped(request.missed_since) + " by " + request.missed_policy + ": " +
             grouped(request.missed_tokens) + " tokens from depth " + grouped(request.matched) + " on";
    case Miss::other_space:
      return "it is there for namespace '" + spaces_[static_cast<std::size_t>(request.missed_space)].name +
             "', and no prefix is shared across two";
    case Miss::gap:
      return "full attention had more, but a window or a state it needs had left";
    case Miss::rounding:
      return "nothing: less than a page was left to find";
  }
  return {};
}

}  // namespace canopy::inspector
