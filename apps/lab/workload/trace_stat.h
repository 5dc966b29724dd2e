#pragma once

#include "trace_record.h"

#include <listing/listing.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace canopy::workload {

/// A bar of a histogram: occurrences in [from, to), and their tokens.
struct Bar {
  std::uint64_t from = 0, to = 0;  ///< `to` 0: no upper limit
  std::uint64_t count = 0, tokens = 0;
};

/// The properties of a trace, without a cache.
struct TraceFacts {
  std::uint64_t unit = 0;  ///< tokens compared at once; a shorter rest counts with its own length
  std::uint64_t requests = 0, prompt_tokens = 0, output_tokens = 0, span_ms = 0;
  std::uint64_t longest_prompt = 0;
  /// Tokens that a cache of all prompts holds: equal units after equal units count once.
  std::uint64_t distinct_tokens = 0;
  /// Prompt tokens in units that an earlier prompt had, after the same units. No bound: a cache with smaller pages
  /// shares parts of units too, and one that keeps answers has them for a later prompt.
  std::uint64_t reused_tokens = 0;
  std::uint64_t resent_requests = 0;    ///< requests whose whole units were all requested before
  std::uint64_t retained_requests = 0;  ///< requests with a retention
  std::uint64_t retained_tokens = 0;    ///< tokens of the longest retention of each
  std::uint64_t longest_retention_ms = 0;

  std::vector<Bar> prompts;      ///< requests by the length of their prompt
  std::vector<Bar> gaps_ms;      ///< reused tokens by the time since they were last in a prompt
  std::vector<Bar> gaps_tokens;  ///< reused tokens by the new tokens of the prompts between the two uses
  std::vector<Bar> depths;       ///< prompt tokens by their depth in the prompt: `count` of them were reused
  std::vector<Bar> uses;         ///< distinct tokens by the number of prompts that had them
  std::vector<Bar> turns;        ///< requests by the turn of their conversation
  std::vector<Bar> lifetimes;    ///< distinct tokens in several prompts by the milliseconds from the first to the last
  /// This share of the distinct tokens, those in most prompts, and their share of all prompt tokens. Of the last unit
  /// only a part may belong to them.
  struct Popular {
    double distinct_share = 0, prompt_share = 0;
  };
  std::vector<Popular> popular;
  /// Totals at a time after the first request.
  struct Moment {
    std::uint64_t ms = 0, requests = 0, prompt_tokens = 0, reused_tokens = 0, distinct_tokens = 0;
    std::uint64_t working_tokens = 0;  ///< distinct tokens of the prompts of the last `window_ms`
  };
  std::vector<Moment> moments;  ///< evenly spaced, at most a few hundred
  std::uint64_t window_ms = 0;
  /// Most distinct tokens in the prompts of any `working_window_ms`, checked at each request.
  std::uint64_t working_most = 0, working_window_ms = 0;
  /// False: the file has no turns. Then a prompt that begins with all whole units of an earlier one counts as the turn
  /// after it, if the last of those units was new in the earlier one.
  bool turns_given = true;
  struct Tenant {
    std::uint64_t requests = 0, prompt_tokens = 0, reused_tokens = 0;
  };
  std::map<std::string, Tenant> tenants;  ///< by namespace
  Doubts doubts;                          ///< doubts of the trace; the caller sets them

  double reused() const {
    return prompt_tokens ? static_cast<double>(reused_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// Namespaces, a row each, for people and for JSON.
using TenantFacts = std::pair<std::string, TraceFacts::Tenant>;
listing::Listing<TenantFacts> tenants_listing(const TraceFacts& facts);

/// Returns the JSON of facts. `trace`: the file's name as given.
nlohmann::ordered_json json_of(const TraceFacts& facts, const std::string& trace);

/// Reads a trace's records one after another. Keeps 40 bytes per distinct unit and 8 per request, no tokens.
class TraceStat {
 public:
  /// `unit`: for prompts of tokens; prompts of ids are compared id by id. REQUIRES: unit > 0.
  explicit TraceStat(std::uint64_t unit);
  void add(const TraceRecord& record);
  /// Returns the facts of all records so far.
  TraceFacts facts() const;

 private:
  struct Unit {
    std::uint64_t print = 0;  ///< hash of all tokens up to its end, with the namespace; 0: free
    std::uint64_t first_ms = 0, last_ms = 0;
    std::uint32_t uses = 0, last_by = 0;  ///< `last_by`: number of the last request that had it, from 0
    std::uint32_t turn = 0;               ///< turn of the request for which it was the last new whole unit; 0: none
    std::uint32_t tokens = 0;
  };

  /// Closes the buckets of time before a moment, which is after the first request.
  void pass(std::uint64_t ms);
  TraceFacts::Moment moment(std::size_t bucket) const;
  /// Moves the tokens of a unit that is used now to the newest of the working set.
  void work(const Unit& unit);
  Unit& at(std::uint64_t print);
  void grow();

  TraceFacts facts_;
  std::vector<Unit> units_;  ///< open addressing, a power of two, at most 3/4 full
  std::size_t used_ = 0;
  std::uint64_t first_ms_ = 0, now_ms_ = 0;
  std::vector<std::uint64_t> new_until_;            ///< distinct tokens after each request
  std::map<std::uint64_t, std::uint64_t> working_;  ///< distinct tokens by the time of their last use, in the window
  std::uint64_t working_tokens_ = 0;                ///< their sum
  std::vector<std::uint64_t> buckets_;  ///< distinct tokens by the time of their last use; the last bucket is open
  std::uint64_t width_ms_;              ///< width of a bucket
};

}  // namespace canopy::workload
