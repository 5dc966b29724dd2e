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

/// Why a request did not find more of its prompt.
enum class Miss : std::uint8_t {
  unknown,      ///< it has not inserted anything yet
  none,         ///< there was nothing more to find
  never_seen,   ///< no request inserted such a continuation before
  evicted,      ///< it was here and was evicted
  other_space,  ///< it is here in another namespace
  tombstone,    ///< full attention had it, and a window or a state of it was evicted
  never_kept,   ///< full attention had it, and no window or state was kept there
  rounding,     ///< less than a page was left
  // Not known, because the mirror does not know all that was evicted before:
  before_attach,  ///< it began to listen later than the engine began
  lost_in_lap,    ///< events were lost
  forgotten,      ///< more nodes were evicted than it remembers
  no_nodes,       ///< the feed tells of no node
};

/// From which moment on a mirror knows all that was inserted and evicted.
struct Horizon {
  /// The reason of a miss that nothing since then explains; never_seen: the mirror knows all from the beginning on.
  Miss before = Miss::never_seen;
  Tick tick = 0;
};

/// Why a request did not find more, and what is known of it.
struct Verdict {
  Miss miss = Miss::unknown;
  Tick missed_since = 0;       ///< evicted: when; not known: the horizon
  Units missed_tokens = 0;     ///< evicted: how many tokens of it, as far as is known
  NamespaceId missed_space{};  ///< other_space: where it is
  std::string missed_policy;   ///< evicted: by which policy, or by a flush
};

/// Tokens that requests did not find, by what ended their match; `rounding` are those of the last page of each, which
/// no match can give.
struct MissGroup {
  Miss miss{};
  std::string policy;  ///< evicted: Verdict::missed_policy
  std::uint64_t requests = 0, tokens = 0;
};

/// Its reason in a few words.
std::string reason_words(const MissGroup& group);

struct MirrorRequest : Verdict {
  std::uint64_t id = 0;
  NamespaceId space{};
  std::uint32_t prompt = 0, matched = 0, computed = 0, committed = 0, known = 0;  ///< tokens
  RequestPhase phase = RequestPhase::running;
  std::uint64_t begun_at = 0, ended_at = 0;  ///< commits; 0: has not ended
  std::uint64_t begun_us = 0, ended_us = 0;  ///< 0: not known
  std::uint32_t retractions = 0;
  bool fetch = false;           ///< no request of a client: it brings a prefix from the tier below, and counts nowhere
  std::uint64_t last_node = 0;  ///< the deepest node it locked last; 0 none known
  std::vector<PageRun> pages;   ///< that it owns
  bool ended() const { return ended_at != 0; }
  /// Tokens that it could have found and did not; tokens of its last page, which no match can give.
  std::uint32_t missed(Units page_size) const { return reusable(page_size) - std::min(matched, reusable(page_size)); }
  std::uint32_t rounding(Units page_size) const {
    return prompt - std::max(reusable(page_size), std::min(matched, prompt));
  }
  /// Tokens that it could have found at most: whole pages, and one token is always computed.
  std::uint32_t reusable(Units page_size) const { return prompt > 0 ? (prompt - 1) / page_size * page_size : 0; }
};

/// The requests that a mirror remembers, in the order they came. Old ones that have ended are forgotten.
class MirrorRequests {
 public:
  const std::vector<MirrorRequest>& all() const { return requests_; }
  std::vector<MirrorRequest>& all() { return requests_; }
  const MirrorRequest* find(std::uint64_t id) const;
  MirrorRequest* find(std::uint64_t id);
  MirrorRequest& add(std::uint64_t id);
  /// Makes room where there are too many: the oldest that have ended go.
  void forget_old();
  void clear();

  /// Keeps verdicts apart from the requests, and shares them with copies.
  void learn() { learned_ = std::make_shared<std::unordered_map<std::uint64_t, Verdict>>(); }
  /// Gives a request the verdict that was learned before, if there is one.
  void recall(MirrorRequest& request) const;
  void keep_verdict(const MirrorRequest& request);

 private:
  std::vector<MirrorRequest> requests_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::shared_ptr<std::unordered_map<std::uint64_t, Verdict>> learned_;  ///< null: not kept
};

}  // namespace canopy::inspector
