#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comparison.h"
#include "trace.h"

namespace canopy::lab {

/// Sorts the requests of a trace into slices once, and turns what a run reused of each request into a row's figures.
class Breakdown {
 public:
  /// REQUIRES: `trace` outlives it. The first `warm_up` requests are not counted. `flop_depth` as in Comparison; > 0.
  Breakdown(const Trace& trace, std::uint64_t warm_up, double flop_depth);

  /// Hits, shares, slices and regrets of a row. `hits`: units that were resident, of each request.
  void fill(Row& row, std::span<const Units> hits) const;
  /// The slices of the requests alone.
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
  bool has_times_ = false;
  std::vector<Slice> slices_;
  std::vector<std::vector<std::uint32_t>> slice_of_;  ///< by kind, by request
};

}  // namespace canopy::lab
