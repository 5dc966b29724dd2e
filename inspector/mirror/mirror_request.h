#pragma once

#include <canopy/feed/feed.h>
#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mirror_node.h"

namespace canopy::inspector {

/// Why a request did not find more of its prompt.
enum class Miss : std::uint8_t {
  unknown,      ///< it has not inserted anything yet
  none,         ///< there was nothing more to find
  never_seen,   ///< nobody brought such a continuation before
  evicted,      ///< it was here and left
  other_space,  ///< it is here in another namespace
  gap,          ///< full attention had it, a window or a state had left
  rounding,     ///< less than a page was left
};

/// Why a request did not find more, and what is known of it.
struct Verdict {
  Miss miss = Miss::unknown;
  Tick missed_since = 0;       ///< evicted: when it left
  Units missed_tokens = 0;     ///< evicted: how many tokens of it left, as far as is known
  NamespaceId missed_space{};  ///< other_space: where it is
  std::string missed_policy;   ///< evicted: who chose
};

/// Tokens that requests did not find, by what ended their match; `rounding` are those of the last page of each, which
/// no match can give.
struct MissGroup {
  Miss miss{};
  std::string policy;  ///< evicted: who chose
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
  std::uint64_t begun_us = 0, ended_us = 0;
  std::uint32_t retractions = 0;
  std::uint64_t last_node = 0;  ///< the deepest node it locked last; 0 none known
  std::vector<PageRun> pages;   ///< its own
  bool ended() const { return ended_at != 0; }
};

}  // namespace canopy::inspector
