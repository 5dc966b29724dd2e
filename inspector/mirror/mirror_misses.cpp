/// Functions about misses: why requests found no more than they did.
#include <canopy/base/figures.h>

#include <algorithm>
#include <tuple>

#include "mirror.h"

namespace canopy::inspector {

std::string reason_words(const MissGroup& group) {
  const std::string words = info_of(group.miss).words;
  return group.miss == Miss::evicted ? words + " by " + group.policy : words;
}

std::vector<MissGroup> Mirror::misses(std::optional<NamespaceId> space,
                                      const std::function<bool(const MirrorRequest&)>& counts) const {
  std::vector<MissGroup> groups;
  const auto add = [&](Miss miss, const std::string& policy, std::uint64_t tokens) {
    if (tokens == 0) return;
    auto at = std::find_if(groups.begin(), groups.end(),
                           [&](const MissGroup& one) { return one.miss == miss && one.policy == policy; });
    if (at == groups.end()) at = groups.insert(at, {miss, policy, 0, 0});
    ++at->requests;
    at->tokens += tokens;
  };
  for (const MirrorRequest& request : requests()) {
    if (!request.admitted() || (space && request.space != *space) || (counts && !counts(request))) continue;
    add(Miss::rounding, {}, request.rounding(page_size()));
    const std::uint32_t flushed = request.missed_flushed(page_size());
    add(Miss::evicted, kFlushPolicy, flushed);
    add(Miss::evicted, request.missed_policy, request.missed_evicted(page_size()) - flushed);
    add(request.rest, {}, request.missed_rest(page_size()));
  }
  std::sort(groups.begin(), groups.end(), [](const MissGroup& a, const MissGroup& b) {
    return std::tie(b.tokens, a.miss, a.policy) < std::tie(a.tokens, b.miss, b.policy);
  });
  return groups;
}

std::string Mirror::why_missed(const MirrorRequest& request) const {
  const std::uint32_t rest = request.missed_rest(page_size());
  if (request.missed_tokens == 0) return why_not_found(request);
  const std::string evicted = "evicted at tick " + grouped(request.missed_since) + " by " + request.missed_policy +
                              ": " + (identifies_pages() ? "" : "about ") +
                              grouped(request.missed_evicted(page_size())) + " tokens from depth " +
                              grouped(request.matched) + " on";
  if (rest == 0 || request.rest == Miss::unknown) return evicted;
  return evicted + "; the " + grouped(rest) + " tokens behind them: " + why_not_found(request);
}

std::string Mirror::why_not_found(const MirrorRequest& request) const {
  switch (request.rest) {
    case Miss::unknown:
      return request.ended() ? "it ended before it inserted anything" : "not known until it inserts something";
    case Miss::none:
      return "another request inserted the rest while this one computed it";
    case Miss::never_seen:
      return "no request inserted such a continuation before";
    case Miss::evicted:
      return "evicted";
    case Miss::other_space:
      return "it is cached in namespace " + space_name(request.missed_space) + ", and namespaces share no prefixes";
    case Miss::tombstone:
      return "full attention had more, but a window or a state that it needs was evicted";
    case Miss::never_kept:
      return "full attention had more, but no window or state was kept there";
    case Miss::rounding:
      return "less than a page was left to find";
    case Miss::before_attach:
      return "not known: before attaching. It has not been here since then, tick " + grouped(request.rest_since) +
             "; it may have been here and evicted before";
    case Miss::lost_in_lap:
      return "not known: lost in a lap. Events were lost up to tick " + grouped(request.rest_since) +
             ", and it has not been here since then";
    case Miss::no_nodes:
      return "not known: " + state_.no_nodes;
    case Miss::forgotten:
      return "not known: forgotten. It has not been here since tick " + grouped(request.rest_since) +
             ", and the evictions before that were too many to remember";
  }
  return {};
}

}  // namespace canopy::inspector
