#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

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

/// Counts of what left a group's pool.
struct LeavingCounts {
  std::uint64_t evicted_tokens = 0, flushed_tokens = 0;  ///< evicted: for any cause but a flush
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
  // Pages of the first group that a match used again, one sample per page:
  Histogram reuse_gap_s{kSeconds};
  Histogram reuse_distance{kWork};  ///< prompt tokens that arrived meanwhile
  // Finished requests whose begin was seen:
  Histogram prompt_tokens{kPrompts}, computed_tokens{kPrompts};
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
