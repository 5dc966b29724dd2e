#pragma once

#include <canopy/base/doubts.h>
#include <canopy/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace canopy::lab {

/// A part of the requests, by namespace or by class, and its reuse in a row. In tokens; for requests after the warm-up.
struct Slice {
  std::string kind;  ///< Way of dividing the requests: "namespace", "turn", "new tokens", "answer"
  std::string name;  ///< name of the part: "tenant-3", "turn 2", "1,536 or more"
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t seen_tokens = 0;  ///< prompt tokens that were requested before, so that an infinite cache has them

  /// Returns the prompt tokens that were evicted and requested again. REQUIRES: they are known (Row::regret).
  std::uint64_t regret_tokens() const { return seen_tokens > hit_tokens ? seen_tokens - hit_tokens : 0; }
  double hit_rate() const {
    return prompt_tokens ? static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// The evenness of a row's hits over the tenants: the namespaces of the trace.
struct Fairness {
  /// Jain's index (sum x)^2 / (n sum x^2) of the hit rates x of n tenants: 1/n to 1 (all equal); of several seeds, the
  /// mean of their indices.
  double jain = 0;
  double mean_hit_rate = 0;  ///< mean of the tenants, each counted once, however many tokens it has; of seeds, the mean
  std::string worst;         ///< tenant with the smallest hit rate; of equals the one with the most prompt tokens
  double worst_hit_rate = 0;  ///< rate of all tokens together where there are several seeds, as is `worst`
};

/// Tokens that were evicted and requested again, in one bin of a histogram.
struct RegretBin {
  std::string name;  ///< "30 s to 1 min", "8,192 to 16,384", "turn 3"
  std::uint64_t tokens = 0;
};

/// Tokens that a policy evicted too early: tokens of a request that an earlier request also had, and that were not
/// resident. Each histogram adds up to `tokens`.
struct Regret {
  std::uint64_t tokens = 0;
  std::vector<RegretBin> by_age;    ///< Time since the last request that had them, by the trace.
  std::vector<RegretBin> by_depth;  ///< position in the prompt
  std::vector<RegretBin> by_turn;   ///< turn of the request that had them again
};

/// The leaves that waited to be evicted at the end of a run (held by no request), in the words of its policy.
struct Waiting {
  struct Kind {
    std::string name;   ///< "used once, below 640 new tokens"; empty if the policy has no kinds
    std::string first;  ///< reason for the eviction rank of the first of them
    std::uint64_t nodes = 0, tokens = 0;
  };
  std::string rule;  ///< The rule of eviction, as a clause. May be empty (no policy, or one without a description).
  std::vector<Kind> kinds;  ///< in order of eviction of their first node
};

/// A figure with its 95 % interval.
struct Interval {
  double mean = 0, low = 0, high = 0;
};

/// A row's figures with one seed of the workload.
struct SeedRun {
  std::uint64_t seed = 0, hit_tokens = 0;
  double hit_rate = 0;
  std::uint64_t digest = 0;
};

/// One policy at one capacity. Hits, shares, slices and regrets cover the requests after the warm-up; evictions, index
/// time and digest cover the whole run.
struct Row {
  std::string policy;                              ///< As requested, options included.
  std::optional<std::uint64_t> capacity_tokens{};  ///< absent: no limit
  Units page_size = 1;
  std::uint64_t hit_tokens = 0;
  double hit_rate = 0;                    ///< share of the prompt tokens, 0..1
  double flop_hit_rate = 0;               ///< same share, each token weighted by its cost (Comparison::flop_depth)
  std::optional<double> optimum_share{};  ///< share of the optimum's hit tokens, 0..1; absent if unknown
  std::optional<std::uint64_t> evicted_tokens{};
  std::optional<double> index_seconds{};  ///< absent: no index ran, the row is computed from the trace only
  std::uint64_t seed = 0, digest = 0;     ///< with several seeds: the first one, and a digest of their digests
  std::uint64_t rejected = 0;             ///< requests that did not fit; hit_rate divides by their prompts too
  std::optional<Interval> spread{};       ///< hit_rate, between seeds; absent: one seed
  /// Hit tokens compared with those of the first policy at this capacity, less 1: 0.1 is a tenth more. Absent: it is
  /// the first policy, that one has no hit, or there are too few requests for an interval.
  std::optional<Interval> gain{};
  /// Time of one GPU to compute the prompt tokens that were not reused, by `tiers.recompute`; in a timed run,
  /// those of the whole run, with what was computed twice. Absent: that is not configured.
  std::optional<double> prefill_seconds{};
  /// Simulated time from the arrival of a request to its first token: median and 95th percentile of the whole run.
  /// Absent: not timed, or no request had one. Of several seeds, the means of their percentiles.
  std::optional<double> p50_ttft_ms{}, p95_ttft_ms{};
  std::optional<std::uint64_t> answered{};    ///< requests of the whole run that had a first token; absent: not timed
  std::vector<SeedRun> by_seed;               ///< empty: one seed
  std::vector<std::uint32_t> request_tokens;  ///< hit tokens by request; empty unless CompareOptions::keep_requests
  std::vector<std::uint64_t> stretch_tokens;  ///< hit tokens by stretch of the trace; for the intervals (spread.h)
  std::vector<Slice> slices;                  ///< grouped by kind, in the order of Comparison::slices
  std::optional<Fairness> fairness{};         ///< absent: fewer than two namespaces, or no hit
  /// Absent: not known, because requests overlapped, groups differ, or a request was rejected. What one request has
  /// computed may then not have been there for the next, and no eviction is to blame.
  std::optional<Regret> regret{};
  Waiting waiting;
};

/// Hit rate of LRU that trims leaves (stack.h) at a capacity.
struct ExactPoint {
  std::uint64_t capacity_tokens = 0;
  double hit_rate = 0;
};

/// Several policies at several capacities over one trace: the content of `canopy compare`'s output, files and charts.
struct Comparison {
  std::string config, source;  ///< names of the engine's file and the trace
  std::string command;         ///< The command that reproduces it.
  Units page_size = 1;         ///< tokens of a page; with `blocks`, of a block of the trace
  bool blocks = false;
  std::uint64_t requests = 0, warm_up = 0;         ///< The first `warm_up` of `requests` run and are not counted.
  std::uint64_t prompt_tokens = 0;                 ///< after the warm-up
  std::optional<std::uint64_t> infinite_tokens{};  ///< tokens of them that a cache without a limit has; absent: unknown
  std::optional<std::uint64_t> distinct_tokens{};  ///< Trace::distinct_tokens of the whole trace; absent: unknown
  std::uint64_t largest_request = 0;               ///< tokens; a smaller pool rejects requests
  std::uint64_t trace_ms = 0;                      ///< from the first arrival to the last
  std::uint64_t counted_ms = 0;                    ///< as trace_ms, of the requests after the warm-up
  double flop_depth = 8192;  ///< a token at depth d costs 1 + d / flop_depth: attention reads all tokens before it
  std::optional<double> bytes_per_token{};  ///< set if capacities were given as memory
  std::vector<std::string> capacity_names;  ///< As requested, in the order of `capacities`.
  std::vector<std::uint64_t> capacities;    ///< tokens
  std::vector<std::string> policies;        ///< In the order requested.
  /// By policy: its name and every option with its value, as YAML flow text. Empty: no engine runs for it.
  std::vector<std::string> policy_options;
  std::uint64_t trace_hash = 0;              ///< Trace::hash; of several seeds, of all
  std::vector<std::uint64_t> seeds;          ///< seeds of the workload; empty: a trace
  bool timed = false;                        ///< true: requests overlap in simulated time
  std::string intervals;                     ///< The origin of the intervals, as a clause. Empty: there are none.
  std::vector<Slice> slices;                 ///< The requests only: hit_tokens is 0.
  std::vector<ExactPoint> lru_curve;         ///< from a quarter of the least capacity to four times the largest
  std::vector<Row> rows;                     ///< by policy, then capacity; one row for the infinite cache
  std::uint64_t checks = 0, violations = 0;  ///< Sums over the ledgers of all runs.
  std::vector<std::string> reports, notes;   ///< violations, and notes needed to interpret the figures
  Doubts doubts;                             ///< doubts of all runs and of the input
  bool incomplete = false;                   ///< true if it was stopped: only complete rows are present
  double seconds = 0;                        ///< time of all runs together, including reading
  unsigned jobs = 1;
};

}  // namespace canopy::lab
