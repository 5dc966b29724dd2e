#pragma once

/// The figures of a run, each defined only here: the members of Report, the JSON report, the attributes of
/// canopy.Report in Python, and the texts of in_words() follow from this list, in its order.
///
/// STORED(type, name, when, unit, help) is a member of Report; DERIVED(name, value, when, unit, help) is computed from
/// `report`. `when` is a value of When. A unit is a noun in the singular, or one of "text", "number", "limit" (tokens,
/// may be unlimited), "share" (0 to 1), "bytes", "s", "ms", "digest" and "list".
#define CANOPY_RUN_FIGURES(STORED, DERIVED)                                                                            \
  STORED(std::string, config, always, "text", "Name of the engine's file.")                                            \
  STORED(std::string, source, always, "text", "Name of the trace or the workload.")                                    \
  STORED(Mode, mode, always, "text", "How requests reached the engine.")                                               \
  STORED(Units, page_size, always, "token", "Size of a page.")                                                         \
  STORED(std::uint64_t, capacity_tokens, always, "limit", "Capacity of the first group's pool.")                       \
  STORED(std::uint64_t, requests, always, "request",                                                                   \
         "Requests that began or were rejected. A retracted request counts once.")                                     \
  STORED(std::uint64_t, prompt_tokens, always, "token", "Tokens of their prompts.")                                    \
  STORED(std::uint64_t, hit_tokens, always, "token",                                                                   \
         "Prompt tokens that were reused. One rejected before it began reuses none.")                                  \
  DERIVED(hit_rate, report.hit_rate(), always, "share", "Share of the prompt tokens that were reused.")                \
  STORED(std::uint64_t, evict_calls, always, "call", "Calls of the index to evict.")                                   \
  STORED(std::uint64_t, evicted_tokens, always, "token", "Tokens evicted.")                                            \
  STORED(std::uint64_t, rejected, always, "request", "Requests that did not fit.")                                     \
  STORED(std::uint64_t, resident_tokens, always, "token", "Tokens in the first group's pool at the end.")              \
  STORED(std::vector<GroupReport>, groups, always, "list", "The pools at the end, by group.")                          \
  STORED(std::uint64_t, nodes, always, "node", "Nodes of the index at the end.")                                       \
  STORED(std::uint64_t, namespaces, always, "namespace", "Namespaces of the index at the end.")                        \
  STORED(std::uint64_t, index_bytes, always, "bytes", "Memory of the index.")                                          \
  STORED(std::uint64_t, inserts_cut_short, always, "insert",                                                           \
         "Inserts that lacked memory. If any, the cache was smaller than configured.")                                 \
  STORED(double, index_seconds, always, "s", "Time spent in the index.")                                               \
  STORED(double, seconds, always, "s", "Time of the whole run.")                                                       \
  STORED(std::uint64_t, ledger_checks, always, "check", "Checks of the ledger.")                                       \
  STORED(std::uint64_t, content_checks, always, "check", "Comparisons of the bytes that were reused.")                 \
  STORED(std::uint64_t, violations, always, "violation", "Checks that failed.")                                        \
  STORED(std::uint64_t, digest, always, "digest", "Digest of all decisions of the run.")                               \
  STORED(std::uint64_t, seed, always, "number", "Seed of the workload.")                                               \
  STORED(std::uint64_t, output_tokens, timed, "token", "Tokens decoded.")                                              \
  STORED(std::uint64_t, aborted, timed, "request", "Requests cancelled by their client.")                              \
  STORED(std::uint64_t, retracted, timed, "request", "Retractions of running requests for lack of room.")              \
  STORED(std::uint64_t, waited, timed, "request", "Requests that did not start at once for lack of room.")             \
  DERIVED(schedule, name_of(report.order.schedule), timed, "text", "Order in which waiting requests are started.")     \
  STORED(std::uint64_t, started, timed, "request", "Requests that started: those of the waiting times.")               \
  STORED(std::optional<double>, mean_wait_ms, timed, "ms",                                                             \
         "Mean simulated time from the arrival of a request to its first start.")                                      \
  STORED(std::optional<std::uint64_t>, p95_wait_ms, timed, "ms", "The same at the 95th percentile.")                   \
  STORED(std::uint64_t, answered, timed, "request", "Requests that had a first token: those of the times to it.")      \
  STORED(std::optional<std::uint64_t>, p50_ttft_ms, timed, "ms",                                                       \
         "Median simulated time from arrival to the first token.")                                                     \
  STORED(std::optional<std::uint64_t>, p95_ttft_ms, timed, "ms", "The same at the 95th percentile.")                   \
  STORED(double, prefill_seconds, timed, "s", "Simulated time of prefills, by tiers.recompute; 0 without that.")       \
  STORED(std::uint64_t, steps, timed, "step", "Simulated steps.")                                                      \
  STORED(std::uint64_t, computed_twice_tokens, timed, "token", "Tokens computed by two requests that ran at once.")    \
  STORED(                                                                                                              \
      std::uint64_t, repointed_tokens, timed, "token",                                                                 \
      "Computed tokens that the cache had when they were committed: those, and what is known of an earlier answer.")   \
  STORED(std::uint64_t, rematched_tokens, timed, "token", "Tokens taken over by Options::rematch. Not in hit_tokens.") \
  STORED(std::uint32_t, most_running, timed, "request", "Most requests that ran at once.")                             \
  STORED(std::uint64_t, resizes, printed, "time", "Changes of a pool's limit.")                                        \
  STORED(std::uint64_t, relocated_pages, printed, "page", "Pages moved to shrink a pool.")
