#pragma once

#include "trace_record.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace canopy::workload {

/// How often something was in [from, to), and how many tokens that were.
struct Bar {
  std::uint64_t from = 0, to = 0;  ///< `to` 0: without an end
  std::uint64_t count = 0, tokens = 0;
};

/// What a trace is, before any cache has seen it.
struct TraceFacts {
  std::uint64_t unit = 0;  ///< tokens that are compared at once; a rest that is shorter counts as one of its own length
  std::uint64_t requests = 0, prompt_tokens = 0, output_tokens = 0, span_ms = 0;
  std::uint64_t longest_prompt = 0;
  std::uint64_t distinct_tokens =
      0;  ///< what a cache without an end would hold: equal tokens behind equal tokens count once
  std::uint64_t reused_tokens = 0;    ///< prompt tokens that an earlier prompt had, behind the same tokens
  std::uint64_t resent_requests = 0;  ///< of which all whole units were there before

  std::vector<Bar> prompts;      ///< requests by the length of their prompt
  std::vector<Bar> gaps_ms;      ///< reused tokens by the time since they were last in a prompt
  std::vector<Bar> gaps_tokens;  ///< reused tokens by the new tokens that other prompts brought in between
  std::vector<Bar> depths;       ///< prompt tokens by how deep in their prompt they are: `count` of them were reused
  std::vector<Bar> uses;         ///< distinct tokens by how many prompts had them
  std::vector<Bar> turns;        ///< requests by the turn of their conversation
  /// False: the file does not have turns. A prompt that begins with all whole units of an earlier one then counts as
  /// the turn after it, if the last of those units was new with the earlier one.
  bool turns_told = true;
  struct Tenant {
    std::uint64_t requests = 0, prompt_tokens = 0, reused_tokens = 0;
  };
  std::map<std::string, Tenant> tenants;  ///< by namespace

  double reused() const {
    return prompt_tokens ? static_cast<double>(reused_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// Writes JSON, all of it or nothing. `trace`: how the file was named.
Result<std::monostate> write_facts(const TraceFacts& facts, const std::string& trace, const std::string& path);

/// Reads a trace's records one after the other. Keeps 40 bytes for each distinct unit, no tokens.
class TraceStat {
 public:
  /// `unit`: for prompts that are tokens; prompts of ids are compared id by id. REQUIRES: unit > 0.
  explicit TraceStat(std::uint64_t unit);
  void add(const TraceRecord& record);
  /// What was read so far.
  TraceFacts facts() const;

 private:
  struct Unit {
    std::uint64_t print = 0;  ///< of all tokens up to its end, namespace included; 0: free
    std::uint64_t last_ms = 0, last_new = 0;
    std::uint32_t uses = 0,
                  turn = 0;  ///< turn: of the request that brought it as its last whole unit; 0: there is none
    std::uint32_t tokens = 0;
  };

  Unit& at(std::uint64_t print);
  void grow();

  TraceFacts facts_;
  std::vector<Unit> units_;  ///< open addressing, a power of two, at most 3/4 full
  std::size_t used_ = 0;
  std::uint64_t first_ms_ = 0, now_ms_ = 0;
};

}  // namespace canopy::workload
