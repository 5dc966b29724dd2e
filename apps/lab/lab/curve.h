#pragma once

#include <workload/request_source.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "history.h"
#include "prints.h"

namespace canopy::lab {

/// Reuse of LRU with trimmed leaves (stack.h) in a pool of some size.
struct CurvePoint {
  std::uint64_t capacity_tokens = 0, hit_tokens = 0;
  double hit_rate = 0;            ///< 0..1, of the prompt tokens
  std::optional<double> error{};  ///< error of hit_rate at 95 % confidence; absent if exact
  /// Time that a prefix stays after its last use, in the trace's time: the median age of tokens requested again at the
  /// edge of the pool. Absent if there were too few, or the trace has no times.
  std::optional<std::uint64_t> stay_ms{};
};

/// Hit rate over capacity for one page size, for requests after the warm-up.
struct Curve {
  Units page_size = 1;
  std::uint64_t requests = 0, prompt_tokens = 0;
  std::uint64_t largest_request = 0;  ///< tokens; a smaller pool keeps its first tokens
  std::uint64_t least_capacity = 0;   ///< tokens; a sample has too little data for smaller pools
  std::uint64_t infinite_tokens = 0;  ///< tokens that a pool without a limit reuses; an estimate in a sample
  std::uint64_t enough_tokens = 0;    ///< smallest pool that reuses that many; an estimate in a sample
  std::uint64_t half_tokens = 0, most_tokens = 0;  ///< smallest pools that reuse a half and nine tenths of it
  std::vector<CurvePoint> points;                  ///< by capacity
};

/// Reads requests once, then computes the reuse of LRU at any capacity. Keeps 8 bytes for each distinct page; in a
/// sample, for each sampled one.
///
/// A sample selects pages by a hash of their prefix, so that a prefix is always or never in it, and scales distances
/// and misses up (SHARDS: Waldspurger et al., FAST '15). Eight disjoint parts of it are samples too. Differences
/// between the parts estimate the random error; their difference from the whole sample estimates the bias of a small
/// sample. The error includes both. Pools that would hold only a few dozen pages of the sample are no points of the
/// curve.
class CurveBuilder {
 public:
  struct Options {
    Units page_size = 16;       ///< tokens of a page or, with `blocks`, of a block
    bool blocks = false;        ///< a partial last block is a unit as well
    std::uint64_t warm_up = 0;  ///< requests that are read and not counted
    double sample = 1;          ///< share of sampled pages; 1: all, and every figure is exact
  };
  explicit CurveBuilder(const Options& options);

  void add(const workload::ClientRequest& request);
  /// Returns the distinct tokens of all added requests, as Trace::distinct_tokens; in a sample an estimate in whole
  /// units.
  std::uint64_t distinct_tokens() const;
  /// Returns the reason why the sample is too small for a curve. Empty if it is not, or there is none.
  std::string flaw_of_sample() const;
  /// Returns the curve of all added requests at these capacities in tokens. Without any: about ten for each power of
  /// ten up to the smallest pool that is enough, and that one. Each of `more` is always a point.
  Curve curve(std::span<const std::uint64_t> capacities, std::span<const std::uint64_t> more) const;

 private:
  /// A counted reuse.
  struct Distance {
    std::uint64_t before = 0;  ///< units of its part that were used after its first unit
    Units length = 0;
    std::uint32_t request = 0, by = 0;
  };
  struct Part {
    double rate = 1;  ///< its share of all units
    History history{};
    std::uint64_t units = 0;  ///< units of counted requests
  };

  std::vector<Distance> distances_of(const Part& part) const;
  CurvePoint exact_point(std::uint64_t capacity, const std::vector<Distance>& distances) const;
  double hit_units(double capacity, std::size_t part, const std::vector<Distance>& distances) const;
  CurvePoint sampled_point(std::uint64_t capacity, const std::vector<std::vector<Distance>>& parts) const;
  std::optional<std::uint64_t> stay_ms(double capacity, const std::vector<Distance>& distances) const;
  bool sampled() const { return options_.sample < 1; }

  Options options_;
  Cut cut_;
  std::vector<Part> parts_;                        ///< the sample, or everything; then the parts of a sample
  std::vector<std::vector<std::uint64_t>> taken_;  ///< prints of the latest request, by part
  std::vector<std::uint64_t> prints_;
  std::unordered_map<std::string, std::uint32_t> spaces_;
  struct Arrival {
    std::uint64_t arrival_ms = 0;
    std::uint32_t prompt_tokens = 0;
  };
  std::vector<Arrival> arrivals_;
  std::uint64_t units_ = 0, unit_tokens_ = 0, prompt_tokens_ = 0;  ///< totals of counted requests
  std::uint64_t largest_ = 0;
};

}  // namespace canopy::lab
