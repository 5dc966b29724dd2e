#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace canopy::lab {

/// A part of the requests, by namespace or by class, and what a row reused of it. Tokens; requests after the warm-up.
struct Slice {
  std::string kind;  ///< what parts the requests: "namespace", "turn", "new tokens", "answer"
  std::string name;  ///< the part: "tenant-3", "turn 2", "1,536 or more"
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t seen_tokens = 0;  ///< of the prompts: asked for before, so that an infinite cache has them

  double hit_rate() const {
    return prompt_tokens ? static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// Tokens that were evicted and asked for again, in one bin of a histogram.
struct RegretBin {
  std::string name;  ///< "30 s to 1 min", "8,192 to 16,384", "turn 3"
  std::uint64_t tokens = 0;
};

/// What a policy evicted too early: tokens that a request asked for, that an earlier request had asked for, and that
/// were not resident. Each histogram adds up to `tokens`.
struct Regret {
  std::uint64_t tokens = 0;
  std::vector<RegretBin> by_age;    ///< time since the last request that asked for them, as the trace tells it
  std::vector<RegretBin> by_depth;  ///< where in the prompt they are
  std::vector<RegretBin> by_turn;   ///< of the request that asked again
};

/// What waited to be evicted when a run had ended, in the words of its policy: leaves that no request holds.
struct Waiting {
  struct Kind {
    std::string name;   ///< "used once, below 640 new tokens, short answer"; empty where a policy has no kinds
    std::string first;  ///< why the first of them is evicted when it is, in words
    std::uint64_t nodes = 0, tokens = 0;
  };
  std::string rule;         ///< what is evicted first, as a clause; empty: the policy does not say, or there is none
  std::vector<Kind> kinds;  ///< in the order in which their first node is evicted
};

/// One policy at one capacity. Hits, shares, slices and regrets are of the requests after the warm-up; evictions,
/// index time and digest are of the whole run.
struct Row {
  std::string policy;                              ///< as it was asked for, options included
  std::optional<std::uint64_t> capacity_tokens{};  ///< none: no limit
  Units page_size = 1;
  std::uint64_t hit_tokens = 0;
  double hit_rate = 0;                    ///< 0..1, of the prompt tokens
  double flop_hit_rate = 0;               ///< the same, each token weighted by its cost (Comparison::flop_depth)
  std::optional<double> optimum_share{};  ///< 0..1 of the optimum's hit tokens; none: the optimum is not known here
  std::optional<std::uint64_t> evicted_tokens{};
  std::optional<double> index_seconds{};  ///< none: no index ran, the row is computed from the trace alone
  std::uint64_t seed = 0, digest = 0;
  std::uint64_t rejected = 0;  ///< requests that did not fit
  std::vector<Slice> slices;   ///< grouped by kind, in the order of Comparison::slices
  Regret regret;
  Waiting waiting;
};

/// Several policies at several capacities over one trace: what `canopy compare` prints, writes and draws.
struct Comparison {
  std::string config, source;  ///< names of the engine's file and the trace
  std::string command;         ///< what reproduces it
  Units page_size = 1;         ///< tokens of a page; with `blocks`, of a block of the trace
  bool blocks = false;
  std::uint64_t requests = 0, warm_up = 0;  ///< of `requests`, the first `warm_up` are run and not counted
  std::uint64_t prompt_tokens = 0;          ///< after the warm-up
  std::uint64_t infinite_tokens = 0;        ///< that a cache without a limit has of them; 0: not known
  std::uint64_t distinct_tokens = 0;        ///< whole pages that are different, of the whole trace; 0: not known
  std::uint64_t largest_request = 0;        ///< tokens; a smaller pool rejects requests
  std::uint64_t trace_ms = 0;               ///< from the first arrival to the last
  double flop_depth = 8192;  ///< a token at depth d costs 1 + d / flop_depth: attention reads all tokens before it
  std::optional<double> bytes_per_token{};   ///< where capacities were given as memory
  std::vector<std::string> capacity_names;   ///< as they were asked for, in the order of `capacities`
  std::vector<std::uint64_t> capacities;     ///< tokens
  std::vector<std::string> policies;         ///< in the order asked for
  std::vector<Slice> slices;                 ///< of the requests alone: hit_tokens is 0
  std::vector<Row> rows;                     ///< by policy, then capacity; the infinite cache has one row
  std::uint64_t checks = 0, violations = 0;  ///< of the ledgers of all runs
  std::vector<std::string> reports, notes;   ///< violations, and what a person must know to trust the figures
  bool incomplete = false;                   ///< it was stopped: only rows that were whole are there
  double seconds = 0;                        ///< of all runs together, with the reading
  unsigned jobs = 1;
};

}  // namespace canopy::lab
