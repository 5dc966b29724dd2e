#pragma once
/// The counters of an engine, and the only place that names them. Python, C's canopy_engine_counter and the tests loop
/// over the table. A new counter needs one line here, and one where the engine counts. The counters of the tiers below
/// are a table of their own (<canopy/feed/counters.h>).

#include <cstdint>
#include <iterator>

namespace canopy {

// X(type, name, rule). The name ends with its unit, unless it counts what it names. The rule is one sentence: what is
// counted, and when.
#define CANOPY_ENGINE_COUNTERS(X)                                                                                      \
  X(std::uint64_t, requests, "Requests that were admitted (Request::admitted), whatever became of them.")              \
  X(std::uint64_t, prompt_tokens, "Tokens of the prompts of those requests.")                                          \
  X(std::uint64_t, hit_tokens,                                                                                         \
    "Tokens of those prompts that were cached, by the last match before the request was admitted, and those that "     \
    "Request::rematch found later.")                                                                                   \
  X(std::uint64_t, tries, "Requests that ended before they were admitted, such as those that found no room.")          \
  X(std::uint64_t, evict_calls, "Calls of the index for pages of the first group.")                                    \
  X(std::uint64_t, evicted_tokens, "Tokens that were evicted from the first group, also for room in another group.")   \
  X(std::uint64_t, finished, "Admitted requests that ended by Request::finish.")                                       \
  X(std::uint64_t, aborted, "Admitted requests that ended otherwise.")                                                 \
  X(std::uint64_t, retracted, "Retractions, each time that a request was retracted.")                                  \
  X(std::uint64_t, repointed_pages, "Pages of a request that were replaced by those that another one inserted first.") \
  X(std::uint64_t, resizes, "New limits of pools.")                                                                    \
  X(std::uint64_t, relocated_pages, "Pages that were moved for them.")                                                 \
  X(double, index_seconds, "Seconds in the index: match, pages, insert, relax, release and evict.")

// clang-format off
/// Counts since the engine was created.
struct Counters {
#define CANOPY_FIELD(type, name, rule) type name{};
  CANOPY_ENGINE_COUNTERS(CANOPY_FIELD)
#undef CANOPY_FIELD
};
// clang-format on

struct EngineCounterInfo {
  const char *name, *rule;
};
inline constexpr EngineCounterInfo kEngineCounters[] = {
#define CANOPY_ROW(type, name, rule) {#name, rule},
    CANOPY_ENGINE_COUNTERS(CANOPY_ROW)
#undef CANOPY_ROW
};

/// Calls visit(info, value) for each counter, in the order of the table.
template <class Visit>
void for_each_counter(const Counters& counters, Visit&& visit) {
  const EngineCounterInfo* info = kEngineCounters;
#define CANOPY_VISIT(type, name, rule) visit(*info++, counters.name);
  CANOPY_ENGINE_COUNTERS(CANOPY_VISIT)
#undef CANOPY_VISIT
}

}  // namespace canopy
