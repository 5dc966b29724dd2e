#pragma once

#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "mirror_node.h"

namespace canopy::inspector {

/// The reason why a request did not find more of its prompt.
enum class Miss : std::uint8_t {
  unknown,      ///< it has not inserted anything yet
  none,         ///< the whole reusable prompt was found
  never_seen,   ///< no request inserted such a continuation before
  evicted,      ///< it was here and was evicted
  other_space,  ///< it is resident in another namespace
  tombstone,    ///< full attention had it, but its window or state was evicted
  never_kept,   ///< full attention had it, but no window or state was kept there
  rounding,     ///< less than a page remained
  // Unknown, because the mirror does not know all earlier evictions:
  before_attach,  ///< the mirror began later than the engine
  lost_in_lap,    ///< events were lost
  forgotten,      ///< more nodes were evicted than the mirror remembers
  no_nodes,       ///< the feed reports no nodes
};

/// The moment from which on the mirror knows all insertions and evictions.
struct Horizon {
  /// Reason of a miss that nothing since then explains; never_seen: the mirror knows everything from the beginning.
  Miss before = Miss::never_seen;
  Tick tick = 0;
};

/// The reason of a miss and what is known about it.
struct Verdict {
  Miss miss = Miss::unknown;
  Tick missed_since = 0;       ///< time of the eviction; if unknown, the horizon
  Units missed_tokens = 0;     ///< evicted tokens of the miss, as far as known
  NamespaceId missed_space{};  ///< for other_space: the namespace that has it
  std::string missed_policy;   ///< for evicted: the policy's name, or a flush
};

/// Tokens that requests did not find, by the reason of their miss. For `rounding` these are the tokens of each last
/// page, which no match can return.
struct MissGroup {
  Miss miss{};
  std::string policy;  ///< for evicted: Verdict::missed_policy
  std::uint64_t requests = 0, tokens = 0;
};

/// Returns the reason in a few words.
std::string reason_words(const MissGroup& group);

struct MirrorRequest : Verdict {
  std::uint64_t id = 0;
  NamespaceId space{};
  std::uint32_t prompt = 0, matched = 0, computed = 0, committed = 0, known = 0;  ///< tokens
  RequestPhase phase = RequestPhase::running;
  std::uint64_t begun_at = 0, ended_at = 0;  ///< commits; 0: not ended
  std::uint64_t begun_us = 0, ended_us = 0;  ///< 0: unknown
  std::uint32_t retractions = 0;
  bool fetch = false;  ///< true for a fetch from the tier below instead of a client's request; it counts nowhere
  std::uint64_t last_node = 0;  ///< deepest node of its latest lock; 0: none known
  std::vector<PageRun> pages;   ///< pages that it owns
  bool ended() const { return ended_at != 0; }
  /// Returns the tokens that it could have found but did not, and the tokens of its last page, which no match can
  /// return.
  std::uint32_t missed(Units page_size) const { return reusable(page_size) - std::min(matched, reusable(page_size)); }
  std::uint32_t rounding(Units page_size) const {
    return prompt - std::max(reusable(page_size), std::min(matched, prompt));
  }
  /// Returns the most tokens that it could have found: whole pages, since at least one token is always computed.
  std::uint32_t reusable(Units page_size) const { return prompt > 0 ? (prompt - 1) / page_size * page_size : 0; }
};

/// The requests that a mirror remembers, in order of arrival. Old ones that have ended are forgotten.
class MirrorRequests {
 public:
  const std::vector<MirrorRequest>& all() const { return requests_; }
  std::vector<MirrorRequest>& all() { return requests_; }
  const MirrorRequest* find(std::uint64_t id) const;
  MirrorRequest* find(std::uint64_t id);
  MirrorRequest& add(std::uint64_t id);
  /// Forgets the oldest ended requests if there are too many.
  void forget_old();
  void clear();

  /// Keeps verdicts separately from the requests and shares them with copies.
  void learn() { learned_ = std::make_shared<std::unordered_map<std::uint64_t, Verdict>>(); }
  /// Gives a request the verdict learned before, if there is one.
  void recall(MirrorRequest& request) const;
  void keep_verdict(const MirrorRequest& request);

 private:
  std::vector<MirrorRequest> requests_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::shared_ptr<std::unordered_map<std::uint64_t, Verdict>> learned_;  ///< May be null (verdicts are not kept).
};

}  // namespace canopy::inspector
