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

// X(value, label, words, meaning): the reasons why a request did not find more of its prompt. The label is the value in
// metrics, which stays the same when the words change. The last four are unknown, because the mirror does not know all
// earlier evictions.
#define CANOPY_MISSES(X)                                                                                               \
  X(unknown, "ended_before_insert", "not known yet",                                                                   \
    "The request has not inserted anything yet: it is not known whether the rest was here before.")                    \
  X(none, "inserted_meanwhile", "inserted meanwhile", "Another request inserted the rest while this one computed it.") \
  X(never_seen, "never_seen", "never seen",                                                                            \
    "No request had inserted such a continuation: no cache could have contained it.")                                  \
  X(evicted, "evicted", "evicted",                                                                                     \
    "It was here and was evicted: a larger pool or another policy might have kept it. "                                \
    "What the request would have found of it; the rest of its prompt has a reason of its own.")                        \
  X(other_space, "other_namespace", "other namespace",                                                                 \
    "It is here in another namespace, and namespaces share no prefixes.")                                              \
  X(tombstone, "window_tombstone", "window tombstone",                                                                 \
    "Full attention had it, but the pages of a window or a state that it needs were evicted (a tombstone, or gap).")   \
  X(never_kept, "state_not_kept", "no state kept",                                                                     \
    "Full attention had it, but as far as is known, no window or state was kept at any greater depth, and none was "   \
    "evicted there.")                                                                                                  \
  X(rounding, "page_rounding", "page rounding",                                                                        \
    "The last page of each prompt, which no match can return: one token is always computed, and only whole pages are " \
    "shared.")                                                                                                         \
  X(before_attach, "not_known_before_attach", "not known: before attaching",                                           \
    "It has not been here since the inspector attached; whether it was here and evicted before is not known. Only a "  \
    "recording from the engine's beginning, or a reader attached from the beginning, can distinguish it from "         \
    "\"never seen\".")                                                                                                 \
  X(lost_in_lap, "not_known_lost_in_lap", "not known: lost in a lap",                                                  \
    "Events came faster than they were read, and some were lost: it is not known whether it was evicted in that "      \
    "time or was never here.")                                                                                         \
  X(forgotten, "not_known_forgotten", "not known: forgotten",                                                          \
    "More nodes were evicted than the inspector remembers, and the older ones were forgotten: it is not known "        \
    "whether it was among them.")                                                                                      \
  X(no_nodes, "not_known_no_nodes", "not known: no nodes reported",                                                    \
    "The index reports no nodes: the reason for a miss is not known.")

// clang-format off
enum class Miss : std::uint8_t {
#define CANOPY_NAME(name, ...) name,
  CANOPY_MISSES(CANOPY_NAME)
#undef CANOPY_NAME
};
// clang-format on

struct MissInfo {
  const char *label, *words, *meaning;
};
inline constexpr MissInfo kMisses[] = {
#define CANOPY_ROW(name, label, words, meaning) {label, words, meaning},
    CANOPY_MISSES(CANOPY_ROW)
#undef CANOPY_ROW
};
constexpr const MissInfo& info_of(Miss miss) { return kMisses[static_cast<std::size_t>(miss)]; }

/// The moment from which on the mirror knows all insertions and evictions.
struct Horizon {
  /// Reason of a miss that nothing since then explains; never_seen: the mirror knows everything from the beginning.
  Miss before = Miss::never_seen;
  Tick tick = 0;
};

/// The reasons of a miss and what is known about it: a part that was evicted, and the rest.
struct Verdict {
  Miss miss = Miss::unknown;   ///< reason of the evicted part, if there is one; otherwise `rest`
  Miss rest = Miss::unknown;   ///< reason of all tokens that were not evicted
  Tick missed_since = 0;       ///< time of the eviction of the evicted part; of its flush if nothing else took any
  Tick rest_since = 0;         ///< if `rest` is unknown: time from which on all is known
  Units missed_tokens = 0;     ///< evicted tokens of the miss
  Units flushed_tokens = 0;    ///< tokens of `missed_tokens` that a flush took
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
  /// The commit from which on it counts (Request::admitted); 0: `matched` is what it found when it began.
  std::uint64_t admitted_at = 0;
  std::uint64_t begun_us = 0, ended_us = 0;  ///< 0: unknown
  std::uint32_t retractions = 0;
  bool recalled = false;  ///< true if its verdict was learned before
  bool fetch = false;     ///< true for a fetch from the tier below instead of a client's request; it counts nowhere
  std::uint64_t last_node = 0;  ///< deepest node of its latest lock; 0: none known
  std::vector<PageRun> pages;   ///< pages that it owns
  bool ended() const { return ended_at != 0; }
  bool admitted() const { return admitted_at != 0; }
  /// Returns the tokens that it could have found but did not, and the tokens of its last page, which no match can
  /// return.
  std::uint32_t missed(Units page_size) const { return reusable(page_size) - std::min(matched, reusable(page_size)); }
  /// Returns the missed tokens that had been evicted, those of them that a flush took, and those that had not.
  std::uint32_t missed_evicted(Units page_size) const { return std::min(missed(page_size), missed_tokens); }
  std::uint32_t missed_flushed(Units page_size) const { return std::min(missed_evicted(page_size), flushed_tokens); }
  std::uint32_t missed_rest(Units page_size) const { return missed(page_size) - missed_evicted(page_size); }
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
