#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "counts.h"
#include "histogram.h"

namespace canopy::inspector {

/// Upper bounds of vLLM's kv_block histograms (0.33, v1/metrics/loggers.py): 1 ms to 30 min, in microseconds.
inline constexpr std::uint64_t kSecondBounds[] = {
    1'000,      2'000,      5'000,       10'000,      20'000,      50'000,        100'000,
    200'000,    500'000,    1'000'000,   2'000'000,   5'000'000,   10'000'000,    20'000'000,
    30'000'000, 60'000'000, 120'000'000, 300'000'000, 600'000'000, 1'200'000'000, 1'800'000'000};
inline constexpr Bounds kSeconds{kSecondBounds, 1e6};
/// Upper bounds of SGLang's prompt histograms (0.5.23, srt/observability/metrics_collector.py), in tokens.
inline constexpr std::uint64_t kPromptBounds[] = {
    100,    300,    500,    700,     1'000,   1'500,   2'000,   3'000,   4'000,   5'000,     6'000,    7'000,
    8'000,  9'000,  10'000, 12'500,  15'000,  17'500,  20'000,  22'500,  25'000,  27'500,    30'000,   35'000,
    40'000, 60'000, 80'000, 100'000, 200'000, 300'000, 400'000, 600'000, 800'000, 1'000'000, 1'100'000};
inline constexpr Bounds kPrompts{kPromptBounds};
/// Bounds of prompt tokens between two uses, up to more than any pool holds.
inline constexpr std::uint64_t kWorkBounds[] = {1'000,      10'000,      30'000,       100'000,    300'000,
                                                1'000'000,  2'000'000,   5'000'000,    10'000'000, 20'000'000,
                                                50'000'000, 100'000'000, 1'000'000'000};
inline constexpr Bounds kWork{kWorkBounds};

/// Tokens of an operation, which a later one explains.
struct LastTokens {
  std::uint64_t commit = 0, tokens = 0;
  void add(std::uint64_t at, std::uint64_t more) {
    if (std::exchange(commit, at) != at) tokens = 0;
    tokens += more;
  }
  /// Returns the tokens, if they are of this commit.
  std::uint64_t of(std::uint64_t at) const { return commit == at ? tokens : 0; }
};

/// Counts of what left a group's pool.
struct LeavingCounts {
  std::array<std::uint64_t, kEvictionCauses> tokens{};  ///< by EvictionCause
  LastTokens for_room;                                  ///< tokens of the latest eviction for room
  std::uint64_t& of(EvictionCause cause) { return tokens[static_cast<std::size_t>(cause)]; }
  std::uint64_t of(EvictionCause cause) const { return tokens[static_cast<std::size_t>(cause)]; }
  std::uint64_t flushed_tokens() const { return of(EvictionCause::flush); }
  /// Returns what left for any cause but a flush.
  std::uint64_t evicted_tokens() const {
    return of(EvictionCause::room) + of(EvictionCause::limit) + of(EvictionCause::other);
  }
  void add(EvictionCause cause, std::uint64_t more, std::uint64_t commit) {
    of(cause) += more;
    if (cause == EvictionCause::room) for_room.add(commit, more);
  }
  /// Records that the pool's limit was changed in this operation: what left for room just before did so for the limit.
  void resized(std::uint64_t commit) {
    const std::uint64_t moved = for_room.of(commit - 1);
    of(EvictionCause::room) -= moved, of(EvictionCause::limit) += moved;
  }
  // Evicted pages whose times are known, one sample per page:
  Histogram lifetime_s{kSeconds};  ///< time since insertion
  Histogram idle_s{kSeconds};      ///< time since the last use
  Histogram idle_work{kWork};      ///< the same, in prompt tokens that arrived meanwhile
};

/// Figures of an exporter beside the counts of a bucket, since the history began.
struct Totals {
  std::uint64_t operations = 0;
  std::uint64_t finished = 0, aborted = 0, retracted = 0;  ///< requests; retracted: number of retractions
  std::map<std::string, LeavingCounts> leaving;            ///< by group
  LastTokens admitted_hits;                                ///< hits of the requests that were admitted last
  // Pages of the first group that a match used again, one sample per page:
  Histogram reuse_gap_s{kSeconds};
  Histogram reuse_distance{kWork};  ///< prompt tokens that arrived meanwhile
  // Finished requests whose admission was seen:
  Histogram prompt_tokens{kPrompts}, computed_tokens{kPrompts};

  /// Ends the wait for the next operation: what it would have explained stays as it is.
  void settle() {
    admitted_hits = {};
    for (auto& [group, counts] : leaving) counts.for_room = {};
  }
};

/// The hit rate of the latest requests.
class RecentHits {
 public:
  static constexpr std::size_t kRequests = 128;

  void add(std::uint32_t prompt, std::uint32_t hit);
  /// Returns the share of their prompt tokens that were found; nothing before the first prompt.
  std::optional<double> rate() const;

 private:
  std::array<std::pair<std::uint32_t, std::uint32_t>, kRequests> last_{};
  std::uint64_t requests_ = 0, prompt_ = 0, hit_ = 0;
};

}  // namespace canopy::inspector
