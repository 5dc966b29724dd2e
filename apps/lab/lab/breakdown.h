#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <canopy/engine/engine_config.h>

#include "comparison.h"
#include "trace.h"

namespace canopy::lab {

/// Returns the evenness of the hits of the slices by namespace; nothing with fewer than two, or without a hit.
std::optional<Fairness> fairness_of(const std::vector<Slice>& slices);

/// Sorts the requests of a trace into slices once, and turns the reuse of each request in a run into a row's figures.
class Breakdown {
 public:
  /// Sorts the requests. The first `warm_up` requests are not counted. `recompute`: the time to compute a part of a
  /// prompt. REQUIRES: `trace` outlives it; `flop_depth` (as in Comparison) > 0.
  Breakdown(const Trace& trace, std::uint64_t warm_up, double flop_depth, const RecomputeConfig& recompute);

  /// Fills hits, shares, slices and regrets of a row. `hits`: resident units of each request. `keep`: also
  /// Row::request_tokens.
  void fill(Row& row, std::span<const Units> hits, bool keep = false) const;
  /// Returns the hit rate only.
  double hit_rate(std::span<const Units> hits) const;
  /// Returns the slices with requests only.
  const std::vector<Slice>& slices() const { return slices_; }
  std::uint64_t prompt_tokens() const { return prompt_tokens_; }

 private:
  template <class NameOf>
  void sort_by(const char* kind, NameOf&& name_of);
  double flops(std::uint64_t tokens) const;
  Regret regret_of(std::span<const Units> hits) const;

  const Trace& trace_;
  std::uint32_t from_;
  double flop_depth_, prompt_flops_ = 0;
  std::uint64_t prompt_tokens_ = 0;
  RecomputeConfig recompute_;
  bool has_times_ = false;
  std::vector<Slice> slices_;
  std::vector<std::vector<std::uint32_t>> slice_of_;  ///< slice by kind, by request
};

}  // namespace canopy::lab
